//! libnghttp2's two sides of HPACK.

use std::ptr;

use libnghttp2_sys as sys;

use super::Owned;

pub(super) struct Deflater(*mut sys::nghttp2_hd_deflater);

impl Deflater {
    pub(super) fn new() -> Self {
        let mut it = ptr::null_mut();
        // SAFETY: the pointer is written where the call succeeds.
        assert_eq!(unsafe { sys::nghttp2_hd_deflate_new(&raw mut it, 4096) }, 0);
        Self(it)
    }

    pub(super) fn resize(&mut self, size: u32) {
        // SAFETY: it was made by `new`.
        let code = unsafe { sys::nghttp2_hd_deflate_change_table_size(self.0, size as usize) };
        assert_eq!(code, 0);
    }

    pub(super) fn deflate(&mut self, fields: &Owned) -> Vec<u8> {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| sys::nghttp2_nv {
                name: name.as_ptr().cast_mut(),
                value: value.as_ptr().cast_mut(),
                namelen: name.len(),
                valuelen: value.len(),
                flags: 0,
            })
            .collect();
        // SAFETY: the fields and the buffer are valid during the calls.
        unsafe {
            let bound = sys::nghttp2_hd_deflate_bound(self.0, fields.as_ptr(), fields.len());
            let mut block = vec![0; bound];
            let length = sys::nghttp2_hd_deflate_hd(
                self.0,
                block.as_mut_ptr(),
                block.len(),
                fields.as_ptr(),
                fields.len(),
            );
            block.truncate(length.try_into().unwrap());
            block
        }
    }
}

impl Drop for Deflater {
    fn drop(&mut self) {
        // SAFETY: it was made by `new` and is not used after this.
        unsafe { sys::nghttp2_hd_deflate_del(self.0) }
    }
}

pub(super) struct Inflater(*mut sys::nghttp2_hd_inflater);

impl Inflater {
    pub(super) fn new() -> Self {
        let mut it = ptr::null_mut();
        // SAFETY: the pointer is written where the call succeeds.
        assert_eq!(unsafe { sys::nghttp2_hd_inflate_new(&raw mut it) }, 0);
        Self(it)
    }

    pub(super) fn resize(&mut self, size: u32) {
        // SAFETY: it was made by `new`.
        let code = unsafe { sys::nghttp2_hd_inflate_change_table_size(self.0, size as usize) };
        assert_eq!(code, 0);
    }

    /// The fields of a whole block, if it is right.
    pub(super) fn inflate(&mut self, mut block: &[u8]) -> Option<Owned> {
        let mut fields = Owned::new();
        loop {
            let mut flags = 0;
            // SAFETY: a field is written where the flags say so, and is valid until the next call.
            unsafe {
                let mut field = std::mem::zeroed::<sys::nghttp2_nv>();
                let taken = sys::nghttp2_hd_inflate_hd2(
                    self.0,
                    &raw mut field,
                    &raw mut flags,
                    block.as_ptr(),
                    block.len(),
                    1,
                );
                block = &block[usize::try_from(taken).ok()?..];
                if flags as u32 & sys::NGHTTP2_HD_INFLATE_EMIT != 0 {
                    let name = std::slice::from_raw_parts(field.name, field.namelen);
                    let value = std::slice::from_raw_parts(field.value, field.valuelen);
                    fields.push((name.to_vec(), value.to_vec()));
                }
                if flags as u32 & sys::NGHTTP2_HD_INFLATE_FINAL != 0 {
                    sys::nghttp2_hd_inflate_end_headers(self.0);
                    return Some(fields);
                }
            }
            if flags == 0 && block.is_empty() {
                return None;
            }
        }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: it was made by `new` and is not used after this.
        unsafe { sys::nghttp2_hd_inflate_del(self.0) }
    }
}
