/** What a tool server over stdio says: lines, answers, lists of tools. None of it is believed before it was read strictly. */
import { canonical, digest, isFault, isJsonObject, type Json } from '../../../src/core/index.ts'
import { answerIn } from '../../../src/upstream/answer.ts'
import { FrameReader } from '../../../src/upstream/frames.ts'
import { readPins } from '../../../src/upstream/index.ts'
import { RESULT_BYTES_MAX } from '../../../src/upstream/limits.ts'
import { type Definition, digestOfDefinition, readListing } from '../../../src/upstream/listing.ts'
import { fileWorld } from '../file-world.ts'
import { answer, answerOf, must, plain, pure, type Target } from '../target.ts'

const result = (value: object): string => `${JSON.stringify({ jsonrpc: '2.0', id: 1, result: value })}\n`

export const upstreamFrames: Target = {
  name: 'upstream-frames',
  property:
    'chunks do not change the messages of a stream, an unfinished line is no message, an answer is bounded text or a refusal, and of a list of tools every one is usable as it was sent or says why not',
  seeds: [
    result({ content: [{ type: 'text', text: 'hello' }], isError: false }),
    result({
      content: [
        { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' },
        { type: 'resource', resource: { uri: 'a:b', text: 'x' } },
        { type: 'resource_link', uri: 'c' },
      ],
      structuredContent: { a: 1 },
    }),
    result({ structuredContent: { a: [1] } }),
    result({
      tools: [
        {
          name: 'a',
          description: 'b',
          inputSchema: { type: 'object' },
          outputSchema: { type: 'object' },
          annotations: { readOnlyHint: true },
        },
        { name: 'a', inputSchema: {} },
      ],
      nextCursor: 'n',
    }),
    '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}\n',
    '\n',
  ],
  words: [
    '\n',
    '"result":',
    '"content":',
    '"type":"text"',
    '"text":',
    '"isError":true',
    '"structuredContent":',
    '"tools":',
    '"inputSchema":{"type":"object"}',
    '"nextCursor":',
    '"name":',
    '"execution":{"taskSupport":"required"}',
    'null',
    '\\u0000',
  ],
  bytesMax: 4096,
  steps: { fixed: 15_000, perByte: 300 },
  open: () => pure(check),
}

async function check(input: Uint8Array): Promise<void> {
  const whole = messagesOf([input])
  must(
    told(messagesOf(Array.from(input, (byte) => Uint8Array.of(byte)))) === told(whole),
    'bytes that come one by one change nothing',
  )
  const middle = input.length >> 1
  must(
    told(messagesOf([input.subarray(0, middle), input.subarray(middle)])) === told(whole),
    'two chunks change nothing',
  )
  const lines = [...input].filter((byte) => byte === 0x0a).length
  must(whole.refused || whole.messages.length === lines, 'a message is a line that ended')
  for (const message of whole.messages) await checkMessage(message)
}

async function checkMessage(message: Json): Promise<void> {
  plain(message)
  if (!isJsonObject(message) || !isJsonObject(message.result ?? null)) return
  const result = message.result as { readonly [name: string]: Json }
  const said = answer(() => answerIn(result))
  if (said.kind === 'Fault') must(isFault(said.fault, 'UPSTREAM_FAILED'), 'a refusal is UPSTREAM_FAILED')
  else
    must(
      said.value.content.isWellFormed() && Buffer.byteLength(said.value.content) <= RESULT_BYTES_MAX + 200,
      'an answer is bounded text',
    )
  let pages = 0
  const listed = await answerOf(() => readListing(async () => (++pages === 1 ? result : { tools: [] })))
  if (listed.kind === 'Fault') {
    must(isFault(listed.fault, 'UPSTREAM_UNAVAILABLE'), 'a refusal is UPSTREAM_UNAVAILABLE')
    return
  }
  for (const [name, tool] of listed.value) {
    if (tool.kind === 'Unusable') {
      must(tool.reason !== '' && tool.reason.isWellFormed(), 'what cannot be used says why')
      continue
    }
    must(
      tool.definition.name === name && tool.definition.inputSchema.type === 'object',
      'a tool is found under its name',
    )
    must(
      digestOfDefinition(JSON.parse(canonical(tool.definition))) === tool.digest &&
        tool.digest === digest(tool.definition),
      'a tool has one digest',
    )
    const twice = (result.tools as readonly Json[]).filter((raw) => isJsonObject(raw) && raw.name === name)
    must(twice.length === 1, 'a tool that is listed twice is not used')
  }
}

interface Read {
  readonly messages: readonly Json[]
  readonly refused: boolean
}

function messagesOf(chunks: readonly Uint8Array[]): Read {
  const reader = new FrameReader()
  const messages: Json[] = []
  for (const chunk of chunks) {
    const read = answer(() => reader.push(chunk))
    if (read.kind === 'Fault') {
      must(isFault(read.fault, 'INVALID_JSON', 'PAYLOAD_TOO_LARGE'), 'a refusal has one of two codes')
      return { messages, refused: true } // what stood before it in its chunk goes with the connection
    }
    messages.push(...read.value)
  }
  return { messages, refused: false }
}

/** A stream that breaks is broken, whatever was told before. */
function told({ messages, refused }: Read): string {
  return refused ? 'refused' : canonical(messages)
}

const DEFINITION: Definition = {
  name: 'a',
  description: 'b',
  inputSchema: { type: 'object' },
  outputSchema: null,
  annotations: null,
}
const pin = { digest: digestOfDefinition(DEFINITION), pinned_at: '2026-03-04T10:11:12.131Z', definition: DEFINITION }
const pins = (servers: object): string => JSON.stringify({ version: 1, servers })

export const pinFile: Target = {
  name: 'pin-file',
  property:
    'a pin that is believed has the digest of its definition and stands under its own name; a file in which one was changed is refused as a whole, and a server of any name has its own pins only',
  seeds: [
    pins({ files: { a: pin } }),
    pins({ files: { a: { ...pin, definition: { ...DEFINITION, description: 'changed' } } } }),
    pins({ files: { b: pin }, constructor: {} }),
    pins({}),
  ],
  words: [
    '"servers":',
    '"definition":',
    '"digest":',
    '"name":"a"',
    '"constructor":',
    '"__proto__":',
    'null',
    '"toString":',
  ],
  bytesMax: 3072,
  steps: { fixed: 6000, perByte: 100 },
  open: () => pure(checkPins),
}

async function checkPins(input: Uint8Array): Promise<void> {
  for (const server of ['files', 'constructor', '__proto__']) {
    const read = await answerOf(() => readPins(fileWorld(input), '/project/.symbiont/mcp-pins.json', server))
    if (read.kind === 'Fault') {
      must(isFault(read.fault, 'CONFIG_INVALID'), 'a refusal is CONFIG_INVALID')
      continue
    }
    plain(read.value)
    for (const [name, { digest: own, definition }] of Object.entries(read.value)) {
      must(definition.name === name && digest(definition) === own, 'a pin has the digest of its definition')
    }
  }
}
