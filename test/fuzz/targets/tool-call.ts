/** The parameters of `tools/call`, and the broker's own tools that carry a call or a handle. */

import { isRequestId } from '../../../src/broker/frame.ts'
import { readApprovedCall, readHandle, readToolCall } from '../../../src/broker/tool-call.ts'
import { canonical, isFault, isJsonObject, isStoredId, type JsonObject, readJson } from '../../../src/core/index.ts'
import { answer, must, pure, type Target } from '../target.ts'

const HANDLE = /^[0-9a-f]{16}$/

export const toolCall: Target = {
  name: 'tool-call',
  property:
    'a call holds the name and the arguments word for word; a handle is 16 hex digits, an id is a stored one, and the id of a client is its own in each session',
  seeds: [
    '{"name":"look","arguments":{"at":"x"}}',
    '{"name":"look","_meta":{"progressToken":7,"symbi/approval":"0123456789abcdef","symbi/invocationId":"3F0E2A0E-8a54-4d1c-9f5b-0a8d9c2b7e10"}}',
    '{"name":"look","arguments":{},"_meta":{"claudecode/toolUseId":"toolu_0123456789abcdef","callId":"call_0123456789ABCDEF"}}',
    '{"approval_id":"0123456789abcdef","name":"look","arguments":{"a":1}}',
    '{"approval_id":"0123456789abcdef"}',
  ],
  words: [
    '"name":',
    '"arguments":',
    '"_meta":',
    '"symbi/approval":',
    '"symbi/invocationId":',
    '"claudecode/toolUseId":',
    '"callId":',
    '"progressToken":',
    '"approval_id":',
    '0123456789abcdef',
  ],
  bytesMax: 4096,
  steps: { fixed: 5000, perByte: 150 },
  open: () => pure(check),
}

function check(input: Uint8Array): void {
  const read = answer(() => readJson(input, { depthMax: 72 }))
  if (read.kind === 'Fault' || !isJsonObject(read.value)) return
  const params: JsonObject = read.value
  const before = canonical(params)
  checkCall(params)
  checkOwnTools(params)
  must(canonical(params) === before, 'reading changes nothing')
}

function checkCall(params: JsonObject): void {
  const asked = answer(() => readToolCall(params, 'session-1'))
  if (asked.kind === 'Fault') {
    must(isFault(asked.fault, 'CALL_INVALID', 'INVALID_INVOCATION_ID'), 'a refusal has one of two codes')
    return
  }
  if (asked.value === null) return
  const { name, arguments: args, presented, invocation, progressToken } = asked.value
  must(
    name === params.name && canonical(args) === canonical(params.arguments ?? {}),
    'name and arguments are what was sent',
  )
  must(presented === null || HANDLE.test(presented), 'a handle is 16 hex digits')
  must(invocation === null || isStoredId(invocation), 'an id is a stored one')
  must(progressToken === null || isRequestId(progressToken), 'a token is as short as an id')
  const meta = isJsonObject(params._meta) ? params._meta : {}
  if (meta['symbi/approval'] === undefined || meta['symbi/approval'] === null)
    must(presented === null, 'no handle is made up')
  const elsewhere = readToolCall(params, 'session-2')?.invocation ?? null
  const own = [meta['symbi/invocationId'], meta['claudecode/toolUseId'], meta.callId].some(
    (id) => typeof id === 'string' && id.toLowerCase() === invocation,
  )
  must(invocation === null || (elsewhere === invocation) === own, 'only a UUID means the same call in two sessions')
}

function checkOwnTools(args: JsonObject): void {
  const approved = answer(() => readApprovedCall(args))
  if (approved.kind === 'Fault') must(isFault(approved.fault, 'CALL_INVALID'), 'a refusal is CALL_INVALID')
  else {
    must(
      approved.value.presented === args.approval_id && HANDLE.test(String(args.approval_id)),
      'the handle is what was sent',
    )
    must(canonical(approved.value.arguments) === canonical(args.arguments ?? {}), 'the arguments are what was sent')
  }
  const handle = answer(() => readHandle(args))
  if (handle.kind === 'Fault') must(isFault(handle.fault, 'CALL_INVALID'), 'a refusal is CALL_INVALID')
  else must(handle.value === args.approval_id && Object.keys(args).length === 1, 'a handle stands alone')
}
