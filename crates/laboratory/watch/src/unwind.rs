//! The callers of a function, from the registers and the stack of a sample, by the tables that programs have for
//! exceptions (DWARF 5, 6.4): stripped ones have them too. Code without such tables is followed by frame pointers.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, EvaluationResult, LittleEndian,
    Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection, Value,
};
use observe::u64_at;
use profile::Frame;

use crate::calls::COUNTED_RETURN;
use crate::image::{Image, Mapping, TRAMPOLINE, at};

type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// The registers of x86-64 that a sample has, as bits of perf's numbers: all general ones and the instruction pointer.
pub(crate) const SAMPLED: u64 = 0x00ff_01ff;
/// How many these are.
pub(crate) const COUNT: usize = 17;
/// Their numbers in DWARF, in perf's order (System V ABI, AMD64, figure 3.36).
const DWARF: [usize; COUNT] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15];
const FRAME_POINTER: usize = 6;
const STACK_POINTER: usize = 7;
const INSTRUCTION: usize = 16;
/// A stack of more frames is not followed to its end.
const DEEPEST: usize = 200;
/// An expression of a table that takes more steps is not one.
const LONGEST: usize = 64;

/// The registers by their numbers in DWARF; `None` where their value is lost.
type Registers = [Option<u64>; COUNT];

/// What was found of the program's frames.
pub(crate) struct Unwound {
    /// Innermost first.
    pub(crate) frames: Vec<Frame>,
    /// Whether all are there, up to the program's or the thread's first function, or to a function whose return is
    /// counted.
    pub(crate) is_whole: bool,
    /// Whether a caller lies in no mapping.
    pub(crate) is_unmapped: bool,
}

/// Unwinds with memory that is used again.
#[derive(Default)]
pub(crate) struct Unwinder(Box<UnwindContext<usize>>);

impl Unwinder {
    /// `registers` are in perf's order.
    pub(crate) fn unwind(
        &mut self,
        mappings: &[Mapping],
        registers: &[u64; COUNT],
        stack: &[u8],
    ) -> Unwound {
        let mut now: Registers = [None; COUNT];
        for (place, value) in DWARF.into_iter().zip(registers) {
            now[place] = Some(*value);
        }
        let stack = Stack { bytes: stack, start: now[STACK_POINTER].unwrap_or_default() };
        let mut frames = Vec::new();
        let mut is_unmapped = false;
        while frames.len() < DEEPEST {
            let Some(instruction) = now[INSTRUCTION].filter(|at| *at > 0) else {
                return Unwound { frames, is_whole: true, is_unmapped };
            };
            // A caller's address is that after its call, which may be another function's.
            let address = instruction - u64::from(!frames.is_empty());
            if at(mappings, instruction).is_some_and(|map| map.image.name == TRAMPOLINE) {
                frames.push(Frame { library: None, function: Some(COUNTED_RETURN.to_owned()) });
                return Unwound { frames, is_whole: true, is_unmapped };
            }
            let Some(map) = at(mappings, address) else {
                is_unmapped = true;
                break;
            };
            let Some(own) = map.own_address(address) else { break };
            let image = &*map.image;
            name_entry(&mut frames, image, own + 1);
            frames.push(Frame {
                library: Some(image.name.clone()),
                function: image.function(own).map(str::to_owned),
            });
            let caller = match self.by_table(image, own, &now, &stack) {
                Err(Failed::NoTable) => by_frame_pointer(&now, &stack),
                by_table => by_table.ok(),
            };
            match caller {
                // A stack only shrinks on the way out.
                Some(next) if next[STACK_POINTER] > now[STACK_POINTER] => now = next,
                Some(next) if next[INSTRUCTION].is_none() => now = next,
                Some(_) | None => break,
            }
        }
        Unwound { frames, is_whole: false, is_unmapped }
    }

    fn by_table(
        &mut self,
        image: &Image,
        address: u64,
        now: &Registers,
        stack: &Stack<'_>,
    ) -> Result<Registers, Failed> {
        let bases = BaseAddresses::default()
            .set_eh_frame(image.frames.address)
            .set_eh_frame_hdr(image.index.address);
        let section = EhFrame::new(&image.frames.bytes, LittleEndian);
        let index = EhFrameHdr::new(&image.index.bytes, LittleEndian);
        let index = index.parse(&bases, 8).map_err(|_| Failed::NoTable)?;
        let table = index.table().ok_or(Failed::NoTable)?;
        let of = table.fde_for_address(&section, &bases, address, EhFrame::cie_from_offset);
        let of = of.map_err(|_| Failed::NoTable)?;
        let encoding = of.cie().encoding();
        let row = of.unwind_info_for_address(&section, &bases, &mut self.0, address);
        let row = row.map_err(|_| Failed::Lost)?;
        let evaluate = |expression: &UnwindExpression<usize>, first: Option<u64>| {
            let expression = expression.get(&section).ok()?;
            evaluated(expression.evaluation(encoding), first, now, stack)
        };
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                value(now, *register).map(|base| base.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(expression) => evaluate(expression, None),
        };
        let frame = frame.ok_or(Failed::Lost)?;
        let mut next = *now;
        next[INSTRUCTION] = None;
        for (register, rule) in row.registers() {
            let Some(place) = next.get_mut(usize::from(register.0)) else { continue };
            *place = match rule {
                RegisterRule::SameValue => value(now, *register),
                RegisterRule::Offset(offset) => stack.word(frame.wrapping_add_signed(*offset)),
                RegisterRule::ValOffset(offset) => Some(frame.wrapping_add_signed(*offset)),
                RegisterRule::Register(other) => value(now, *other),
                RegisterRule::Expression(expression) => {
                    evaluate(expression, Some(frame)).and_then(|at| stack.word(at))
                }
                RegisterRule::ValExpression(expression) => evaluate(expression, Some(frame)),
                RegisterRule::Constant(value) => Some(*value),
                _ => None,
            };
            if register.0 as usize == INSTRUCTION
                && place.is_none()
                && !matches!(rule, RegisterRule::Undefined)
            {
                // It lies beyond what was sampled.
                return Err(Failed::Lost);
            }
        }
        next[STACK_POINTER] = Some(frame);
        Ok(next)
    }
}

/// Names the function by which a library was entered, where only what that called last is on the stack, as in the place
/// of its own frame.
fn name_entry(frames: &mut Vec<Frame>, caller: &Image, after_call: u64) {
    let Some(entered) = frames.last().filter(|last| last.function.is_none()) else { return };
    let library = entered.library.clone();
    if library.as_ref() != Some(&caller.name)
        && let Some(name) = caller.called_before(after_call)
    {
        frames.push(Frame { library, function: Some(name.to_owned()) });
    }
}

/// Why a table gives no caller.
enum Failed {
    /// None is of this function.
    NoTable,
    /// It cannot be read, or needs what was not sampled.
    Lost,
}

fn value(registers: &Registers, register: Register) -> Option<u64> {
    *registers.get(usize::from(register.0))?
}

/// As compilers begin functions: the caller's frame pointer, and above it where it goes on.
fn by_frame_pointer(now: &Registers, stack: &Stack<'_>) -> Option<Registers> {
    let frame = now[FRAME_POINTER]?;
    let mut next = *now;
    next[FRAME_POINTER] = Some(stack.word(frame)?);
    next[INSTRUCTION] = Some(stack.word(frame + 8)?);
    next[STACK_POINTER] = Some(frame + 16);
    Some(next)
}

/// The value of an expression of a table.
fn evaluated(
    mut evaluation: gimli::Evaluation<Reader<'_>>,
    first: Option<u64>,
    now: &Registers,
    stack: &Stack<'_>,
) -> Option<u64> {
    if let Some(first) = first {
        evaluation.set_initial_value(first);
    }
    let mut step = evaluation.evaluate().ok()?;
    for _ in 0..LONGEST {
        step = match step {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                evaluation.resume_with_memory(Value::Generic(stack.word(address)?)).ok()?
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                evaluation.resume_with_register(Value::Generic(value(now, register)?)).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.as_result().first()?.location {
        gimli::Location::Address { address } => Some(address),
        _ => None,
    }
}

/// What a sample has of the memory above the stack pointer.
struct Stack<'a> {
    bytes: &'a [u8],
    start: u64,
}

impl Stack<'_> {
    fn word(&self, address: u64) -> Option<u64> {
        let place = usize::try_from(address.checked_sub(self.start)?).ok()?;
        place.checked_add(8).filter(|end| *end <= self.bytes.len())?;
        u64_at(self.bytes, place)
    }
}
