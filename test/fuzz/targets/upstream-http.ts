/** What a tool server over HTTP answers to a question: one answer to it, or nothing that anybody believes. */
import { canonical, isFault, isJsonObject, type Json } from '../../../src/core/index.ts'
import { answerOf as httpAnswer } from '../../../src/upstream/http-answer.ts'
import type { WireResponse } from '../../../src/upstream/http-wire.ts'
import type { HttpReply } from '../../../src/world/index.ts'
import { answerOf, must, pure, type Target } from '../target.ts'

const ASKED = 7
const reply = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'

/** An input is the status and the kind of an answer on the first line, and its body behind it. */
export const upstreamHttp: Target = {
  name: 'upstream-http',
  property:
    'what comes out of an answer is strict JSON with exactly one answer to what was asked, told to the journal before; chunks change nothing, and a body that is cut before the answer stands there answers nothing',
  seeds: [
    `200 application/json\n${reply}`,
    `200 text/event-stream\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\nevent: message\ndata: ${reply}\n\n`,
    `200 text/event-stream; charset=utf-8\r\n: x\r\n\r\ndata: {"jsonrpc":"2.0",\r\ndata: "id":7,"result":{}}\r\n\r\ndata: {"jsonrpc":"2.0","method":"late"}\r\n\r\n`,
    '200 application/json\n{"jsonrpc":"2.0","id":8,"result":{}}',
    `404 application/json\n${reply}`,
    '302 text/html\nx',
  ],
  words: [
    'data: ',
    '\n\n',
    '\r\n',
    reply,
    '"id":7',
    '"id":"7"',
    '"method":"x"',
    '200 ',
    ' text/event-stream\n',
    ' application/json\n',
    'event: message\n',
    '\ufeff',
  ],
  bytesMax: 3072,
  steps: { fixed: 20_000, perByte: 600 },
  open: () => pure(check),
}

async function check(input: Uint8Array): Promise<void> {
  const newline = input.indexOf(0x0a)
  const [, status = '200', kind = ''] =
    /^(\d{3}) ([ -~]*)/.exec(Buffer.from(input.subarray(0, Math.max(0, newline))).toString('latin1')) ?? []
  const body = input.subarray(newline + 1)
  const head = { status: Math.min(599, Math.max(200, Number(status))), kind: kind.trim() }
  const whole = await received(head, [body])
  const cut = body.length >> 1
  const halves = await received(head, [body.subarray(0, cut), body.subarray(cut)])
  const bytes = await received(
    head,
    Array.from(body, (byte) => Uint8Array.of(byte)),
  )
  // the more comes with an answer, the more may be wrong with what came: then it is not believed either
  for (const more of [whole, halves]) must(isSameOrNothing(more, bytes), 'larger chunks are the same answer, or none')
  if (bytes.at === null) return
  const text = Buffer.from(body.subarray(0, bytes.at)).toString('latin1')
  const end = head.kind.startsWith('text/') ? bytes.at : text.replace(/[ \t\r\n]+$/, '').length
  for (const at of [0, end >> 1, end - 1]) {
    if (at < 0 || at >= end) continue
    const part = await received(head, [body.subarray(0, at)])
    must(
      part.told.every((message) => !isAnswer(message)),
      `a body that is cut at ${at} answers nothing`,
    )
  }
}

function isSameOrNothing(more: Received, bytes: Received): boolean {
  const [answer] = more.told.filter(isAnswer)
  return answer === undefined || canonical(answer) === canonical(bytes.told.find(isAnswer) ?? null)
}

interface Received {
  readonly told: readonly Json[]
  /** How many bytes stood there when the answer was told to the journal; null where there was none. */
  readonly at: number | null
}

async function received(
  { status, kind }: { status: number; kind: string },
  chunks: readonly Uint8Array[],
): Promise<Received> {
  const ends: WireResponse[] = []
  const reply: HttpReply = {
    status,
    headers: [['content-type', kind]],
    body: (async function* () {
      for (const chunk of chunks) if (chunk.length > 0) yield chunk
    })(),
    [Symbol.asyncDispose]: async () => undefined,
  }
  const answering = { asked: ASKED, isTakenBack: () => false, ends: async (end: WireResponse) => void ends.push(end) }
  const told: Json[] = []
  const read = await answerOf(async () => {
    const response = await httpAnswer(reply, answering)
    must(response.status >= 200 && response.status < 400, 'an answer that is taken has a status of success')
    const text = await drained(response, told)
    if (text !== null) told.push(JSON.parse(text))
  })
  must(ends.length <= 1, 'the journal is told once')
  if (read.kind === 'Fault')
    must(
      isFault(read.fault, 'UPSTREAM_FAILED', 'INVALID_JSON', 'PAYLOAD_TOO_LARGE'),
      'a refusal has one of three codes',
    )
  const answers = told.filter(isAnswer)
  const [end] = ends
  must(answers.length === 0 || (end !== undefined && end.error === null), 'an answer was told to the journal before')
  const [first] = answers
  must(
    first === undefined || (isJsonObject(first) && first.id === ASKED),
    'the first answer is the one to what was asked',
  )
  return {
    told: read.kind === 'Value' || answers.length > 0 ? told : [],
    at: answers.length > 0 ? (end?.body?.length ?? null) : null,
  }
}

/** The events go into `told` as they come; another body is returned as its text. */
async function drained(response: Response, told: Json[]): Promise<string | null> {
  if (!/^text\/event-stream/i.test(response.headers.get('content-type') ?? '')) return await response.text()
  for await (const chunk of response.body ?? []) {
    const [, data] = /^data: (.*)\n\n$/.exec(Buffer.from(chunk).toString()) ?? []
    must(data !== undefined, 'what is handed on is one event at a time')
    told.push(JSON.parse(data))
  }
  return null
}

function isAnswer(message: Json): boolean {
  return isJsonObject(message) && message.method === undefined
}
