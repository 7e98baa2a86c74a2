/** A claim file: three lines in one order, and never an answer out of less. */
import { canonical, isFault } from '../../../src/core/index.ts'
import { auditLine, claimLine, readClaimLines, resultLine } from '../../../src/invocations/claim-file.ts'
import { auditPath, placeOf } from '../../../src/invocations/place.ts'
import { stateOf } from '../../../src/invocations/state.ts'
import { answer, must, pure, type Target } from '../target.ts'

const PLACE = placeOf('/project')
const AGENT = '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'
const RUN = '0d0a3f0e-3a3f-4b1a-9d1e-2f1c5a7b9e11'
const CLAIM = {
  kind: 'claim',
  version: 1,
  scope: 'ws:chat:v1',
  id: '3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10',
  request_hash: `sha256:${'a'.repeat(64)}`,
  agent_id: AGENT,
  run_id: RUN,
} as const
const HONEST = Buffer.concat([
  claimLine(CLAIM as never),
  auditLine({
    run_id: RUN as never,
    path: auditPath(PLACE, AGENT as never, RUN as never),
    public_key: 'b'.repeat(64) as never,
  }),
  resultLine({ kind: 'Completed', content: 'done' }),
])
const ends = [...HONEST.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1)

export const claimFile: Target = {
  name: 'claim-file',
  property:
    'a claim that is read reads the same when its lines are written again; it is recorded only with three complete lines of one run whose journal lies in its place, and nothing less of it is recorded',
  seeds: [
    HONEST,
    ...ends.map((end) => HONEST.subarray(0, end)),
    HONEST.subarray(0, HONEST.length - 1),
    Buffer.concat([HONEST, HONEST.subarray(ends[1])]),
    '\n\n\n',
  ],
  words: [
    '\n',
    '{"kind":"claim"',
    '{"kind":"audit"',
    '{"kind":"result","payload":',
    '"version":1',
    AGENT,
    RUN,
    '/project/.symbiont/governed/',
    '../',
    'null',
  ],
  bytesMax: 4096,
  steps: { fixed: 6000, perByte: 400 },
  open: () => pure(check),
}

function check(input: Uint8Array): void {
  const read = answer(() => readClaimLines(input, PLACE))
  if (read.kind === 'Fault') {
    must(isFault(read.fault, 'CLAIM_INVALID'), 'a refusal is CLAIM_INVALID')
    return
  }
  const lines = read.value
  const { claim, audit, result, torn } = lines
  must((claim !== null || audit === null) && (audit !== null || result === null), 'the lines come in one order')
  if (claim !== null && audit !== null) {
    must(
      audit.run_id === claim.run_id && audit.path === auditPath(PLACE, claim.agent_id, claim.run_id),
      'the journal is the one of this claim, in its place',
    )
  }
  const written = Buffer.concat([
    ...(claim === null ? [] : [claimLine(claim)]),
    ...(audit === null ? [] : [auditLine(audit)]),
    ...(result === null ? [] : [resultLine(result.payload)]),
  ])
  const again = readClaimLines(written, PLACE)
  must(canonical({ ...again, torn }) === canonical(lines), 'what is written again reads as itself')
  const state = stateOf(lines, false, null)
  must(
    (state.kind === 'Recorded') === (result !== null && !torn),
    'it is recorded when all three lines are there and nothing follows',
  )
  must(stateOf(lines, true, null).kind === 'Unresolved', 'evidence that needs a person is never recorded')
  for (const at of cutsOf(input.subarray(0, input.lastIndexOf(0x0a) + 1))) {
    const part = answer(() => readClaimLines(input.subarray(0, at), PLACE))
    must(
      part.kind === 'Value' && stateOf(part.value, false, null).kind === 'Unresolved',
      `a file cut at ${at} can be read, and is unresolved`,
    )
  }
}

/** Around the ends of lines, and in the middle of each. */
function cutsOf(input: Uint8Array): readonly number[] {
  const cuts = new Set<number>([0, input.length >> 1, input.length - 1])
  for (let at = input.indexOf(0x0a); at !== -1; at = input.indexOf(0x0a, at + 1))
    for (const near of [at, at + 1, at + 2]) cuts.add(near)
  return [...cuts].filter((at) => at >= 0 && at < input.length)
}
