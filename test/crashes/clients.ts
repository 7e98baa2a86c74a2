/** Those who ask: they say what the scenario has them say, and keep what they were told until the other side is gone. */
import WebSocket from 'ws'
import type { ServerMessage } from '../../src/coordinator/index.ts'
import { RawClient, type ToolAnswer } from '../support/raw-mcp-client.ts'
import type { Answer } from './messages.ts'
import type { Worker } from './processes.ts'
import { confirmedIn, plainPath, type Scenario, type Work } from './scenarios.ts'

/** What clients were told, while it grows. */
export interface Hearing {
  readonly opened: Map<string, string>
  readonly answered: Map<string, Answer>
  readonly done: string[]
  readonly handles: string[]
}

export const hearing = (): Hearing => ({ opened: new Map(), answered: new Map(), done: [], handles: [] })

/** Sends each piece of work over a connection of its own, all at once. Resolves when all are answered or cut off. */
export async function chatClients(url: string, work: readonly Work[], heard: Hearing): Promise<void> {
  const asked = work.map(({ id, plan }) =>
    converse(url, [{ type: 'ChatSend', id, content: JSON.stringify(plan) }], (message) => {
      if (message.type === 'AuditOpened') heard.opened.set(id, message.audit.run_id)
      const answer = answerIn(message, heard.opened.get(id) ?? null)
      if (answer !== null) heard.answered.set(id, answer.kind === 'NotFound' ? { ...answer, kind: 'Recorded' } : answer)
      return answer !== null
    }),
  )
  await Promise.all(asked)
}

/** Looks each piece of work up, then sends it twice. */
export async function askChatsAgain(
  url: string,
  work: readonly Work[],
): Promise<ReadonlyMap<string, readonly Answer[]>> {
  const answers = new Map<string, readonly Answer[]>()
  for (const { id, plan } of work) {
    const got: Answer[] = []
    const content = JSON.stringify(plan)
    let run: string | null = null
    const ask = async (type: 'ChatInspect' | 'ChatSend'): Promise<void> => {
      run = null
      await converse(url, [{ type, id, content }], (message) => {
        if (message.type === 'AuditOpened') run = message.audit.run_id
        const answer = answerIn(message, run)
        if (answer !== null && !(type === 'ChatInspect' && answer.code === 'INVOCATION_NOT_FOUND')) got.push(answer)
        return answer !== null
      })
    }
    await ask('ChatInspect')
    await ask('ChatSend')
    await ask('ChatSend')
    answers.set(id, got)
  }
  return answers
}

function converse(url: string, frames: readonly object[], take: (message: ServerMessage) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url)
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
    socket.on('open', () => {
      for (const frame of frames) socket.send(JSON.stringify(frame))
    })
    socket.on('message', (data) => {
      if (take(JSON.parse(String(data)) as ServerMessage)) socket.close()
    })
  })
}

const KINDS: Readonly<Record<string, Answer['kind']>> = { INVOCATION_UNRESOLVED: 'Unresolved', LOOP_ERROR: 'Failed' }

function answerIn(message: ServerMessage, run: string | null): Answer | null {
  if (message.type === 'ChatChunk' && message.done) {
    return { kind: message.replayed ? 'Recorded' : 'NotFound', content: message.content, run, code: null }
  }
  if (message.type !== 'Error') return null
  const kind = KINDS[message.code] ?? 'Other'
  return { kind, content: null, run, code: message.code }
}

/**
 * An MCP client: a call under no id, one or two with ids, and where they are held, the approval of a person and the same call
 * again. Throws when the other side is gone.
 */
export async function toolClient(
  child: Worker,
  { scenario, tag, origin, work }: { scenario: Scenario; tag: string; origin: string; work: readonly Work[] },
  heard: Hearing,
): Promise<void> {
  const { stdin, stdout } = child.process
  const raw = new RawClient((text) => void stdin.write(text))
  const listen = (chunk: Buffer): void => raw.heard(String(chunk))
  stdout.on('data', listen)
  void child.heard((message) => 'ended' in message).then(() => raw.gone())
  await raw.greet()
  let count = 0
  const call = async (path: string, meta: object): Promise<ToolAnswer> => {
    count += 1
    raw.call(count, 'http_request', { method: 'GET', url: `${origin}${path}` }, meta)
    return await raw.result(count)
  }
  /** Held calls are approved and made again, under the id that comes next. */
  const made = async (path: string, metas: readonly [object, object]): Promise<readonly ToolAnswer[]> => {
    const first = await call(path, metas[0])
    const handle = first.structuredContent?.approval_id
    if (typeof handle !== 'string') return [first]
    child.say({ approve: handle })
    await child.heard((message) => 'approved' in message && message.approved === handle)
    heard.handles.push(handle)
    return [first, await call(path, { ...metas[1], 'symbi/approval': handle })]
  }
  const [plain] = (await made(plainPath(tag), [{}, {}])).slice(-1)
  if (plain?.isError === false) heard.done.push(plainPath(tag))
  const identified = ({ id }: Work): object => ({ 'symbi/invocationId': id })
  const [one, two] = work as readonly [Work, Work]
  const answers =
    scenario === 'approval'
      ? await made(one.call, [identified(one), identified(two)])
      : [await call(one.call, identified(one)), await call(two.call, identified(two))]
  for (const [index, answer] of answers.entries()) {
    const id = work[index]?.id ?? ''
    heard.answered.set(id, toolAnswer(answer))
  }
  stdin.end()
}

/** The result of a call with an id, as its client reads it. */
function toolAnswer({ content, structuredContent, _meta }: ToolAnswer): Answer {
  const run = typeof _meta?.['symbi/run'] === 'string' ? _meta['symbi/run'] : null
  const code = typeof structuredContent?.code === 'string' ? structuredContent.code : null
  const text = confirmedIn(content.map((part) => part.text))
  if (run !== null) return { kind: 'Recorded', content: text, run, code }
  const kind = code === 'INVOCATION_UNRESOLVED' || structuredContent?.status === 'unknown' ? 'Unresolved' : 'Other'
  return { kind, content: null, run, code }
}
