/* The calls of MPI that toll-rank needs, over bytes and without MPI's types. None of them waits, but for
 * toll_mpi_init and toll_mpi_finalize. All return 0 where they succeed. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int toll_mpi_init(int *rank, int *size) {
    int provided;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return MPI_Comm_rank(MPI_COMM_WORLD, rank) != MPI_SUCCESS ||
           MPI_Comm_size(MPI_COMM_WORLD, size) != MPI_SUCCESS;
}

/* What the library says of its version, cut to the room that is there. */
void toll_mpi_version(char *text, int room) {
    char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(whole, &length);
    snprintf(text, room, "%s", whole);
}

int toll_mpi_finalize(void) { return MPI_Finalize() != MPI_SUCCESS; }

void toll_mpi_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

/* A new request, which toll_mpi_test frees; NULL where it cannot be made. */
static MPI_Request *made(int result, MPI_Request request) {
    MPI_Request *kept = result == MPI_SUCCESS ? malloc(sizeof *kept) : NULL;
    if (kept)
        *kept = request;
    return kept;
}

/* The bytes must stay until the request is done. */
void *toll_mpi_isend(const void *bytes, int length, int to) {
    MPI_Request request;
    int result = MPI_Isend(bytes, length, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
    return made(result, request);
}

/* Whether a message has come: from whom, and how long it is. */
int toll_mpi_iprobe(int *has_come, int *from, int *length) {
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, has_come, &status) != MPI_SUCCESS)
        return 1;
    if (*has_come) {
        *from = status.MPI_SOURCE;
        return MPI_Get_count(&status, MPI_BYTE, length) != MPI_SUCCESS;
    }
    return 0;
}

/* The bytes must stay until the request is done. */
void *toll_mpi_receive(void *bytes, int length, int from) {
    MPI_Request request;
    int result = MPI_Irecv(bytes, length, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
    return made(result, request);
}

void *toll_mpi_ibarrier(void) {
    MPI_Request request;
    int result = MPI_Ibarrier(MPI_COMM_WORLD, &request);
    return made(result, request);
}

/* Whether a request is done, which frees it. */
int toll_mpi_test(void *request, int *is_done) {
    if (MPI_Test(request, is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return 1;
    if (*is_done)
        free(request);
    return 0;
}
