/** A frame of a chat client: a known message with a stored id and bounded content, or one of three refusals. */
import fc from 'fast-check'
import { CONTENT_BYTES_MAX, readFrame } from '../../../src/coordinator/frame.ts'
import { isFault, isStoredId } from '../../../src/core/index.ts'
import { answer, must, pure, type Target, textOf } from '../target.ts'

const ID = '3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'

export const chatFrame: Target = {
  name: 'chat-frame',
  property:
    'a frame that is taken has a type of the protocol, content word for word, a lower-case id that is not nil, and reads as itself when it is written again',
  seeds: [
    '{"type":"Ping"}',
    JSON.stringify({ type: 'ChatSend', id: ID, content: 'hello' }),
    JSON.stringify({ type: 'ChatInspect', id: ID.toUpperCase(), content: '', extra: [1] }),
    '{"type":"ChatSend","id":"00000000-0000-0000-0000-000000000000","content":"\\ud800"}',
  ],
  words: ['"ChatSend"', '"ChatInspect"', '"Ping"', '"type":', '"id":', '"content":', ID, '\\udc00'],
  fresh: fc
    .record({
      type: fc.constantFrom('ChatSend', 'ChatInspect', 'Ping', 'x'),
      id: fc.oneof(fc.uuid(), fc.string()),
      content: fc.string({ unit: 'binary' }),
    })
    .map((frame) => JSON.stringify(frame)),
  bytesMax: 4096,
  steps: { fixed: 3000, perByte: 60 },
  open: () => pure(check),
}

function check(input: Uint8Array): void {
  const text = textOf(input)
  const read = answer(() => readFrame(text))
  if (read.kind === 'Fault') {
    must(
      isFault(read.fault, 'PARSE_ERROR', 'MESSAGE_TOO_LARGE', 'INVALID_INVOCATION_ID'),
      'a refusal has one of three codes',
    )
    return
  }
  const frame = read.value
  const sent = JSON.parse(text)
  must(sent.type === frame.type, 'the type is the one that was sent')
  if (frame.type === 'Ping') return
  must(
    isStoredId(frame.id) && frame.id === frame.requestId.toLowerCase(),
    'the id is the one that was sent, in lower case',
  )
  must(frame.content === sent.content && frame.requestId === sent.id, 'content and id are what was sent')
  must(Buffer.byteLength(frame.content) <= CONTENT_BYTES_MAX, 'content is bounded')
  const again = readFrame(JSON.stringify({ type: frame.type, id: frame.requestId, content: frame.content }))
  must(JSON.stringify(again) === JSON.stringify(frame), 'a frame that is written again reads as itself')
}
