/**
 * Numbers of tokens. They are u32 and saturate, so that no sum wraps round to a small one; and a number that is not a
 * whole one is refused where it comes in, because every comparison with NaN is false and would pass as "enough" (law 5).
 */
import { Fault } from '../core/index.ts'

const TOKENS_MAX = 0xffffffff

/** What a request may need beyond its own bytes, where the provider cannot count: roles, separators, tool preambles. */
const UNCOUNTED_TOKENS = 1024

/** The number, when it is a whole one that fits; 0 is 0, and never stands for "unlimited". */
export function tokenCount(value: number, what: string): number {
  if (Number.isInteger(value) && value >= 0 && value <= TOKENS_MAX) return value
  throw new Fault('CONFIG_INVALID', {
    message: `Cannot use ${what}: ${value} is not a whole number from 0 to ${TOKENS_MAX}`,
    hint: 'Give a number of tokens; 0 allows nothing',
  })
}

export function saturate(tokens: number): number {
  return Math.min(TOKENS_MAX, tokens)
}

/** Input tokens to reserve: the provider's exact count, else one token a byte, which no tokenizer exceeds, and a margin. */
export function inputTokensOf(exact: number | null, requestBytes: number): number {
  if (exact !== null) return tokenCount(exact, 'the input token count of the provider')
  if (Number.isSafeInteger(requestBytes) && requestBytes >= 0) return saturate(requestBytes + UNCOUNTED_TOKENS)
  throw new Fault('CONFIG_INVALID', {
    message: `Cannot count input tokens: ${requestBytes} is not a number of bytes`,
    hint: 'Give the length of the serialised request',
  })
}
