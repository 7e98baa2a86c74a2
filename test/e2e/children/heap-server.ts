/**
 * A server in a process of its own, whose memory is looked at. Arguments: the project's folder, and what it keeps: `nothing`,
 * or, on purpose, one small object for every turn and connection, so that the test can show that it would see them. After
 * each line on stdin it prints what it holds; after the line `census` also what lives when its garbage is collected.
 */
import { existsSync, readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type InferenceResponse, openRuntime, type Provider, serve } from '../../../src/runtime/index.ts'
import { type Census, census } from '../../support/heap-census.ts'

/** What is left when the garbage is collected. */
export interface Living {
  /** Of JavaScript objects, and of what they own outside the heap. */
  readonly bytes: number
  readonly census: Census
}

export interface Held {
  readonly connections: number
  /** Conversations of the coordinator. */
  readonly holders: number
  /** Open files and sockets of the process; null where the system does not tell. */
  readonly files: number | null
  /** Whole turns that were answered. */
  readonly turns: number
  /** Only when it was asked for. */
  readonly living: Living | null
}

const ROUNDS_MAX = 40

const [project = '', keeps = 'nothing'] = process.argv.slice(2)
const kept: object[] = []
class KeptTurn {}
class KeptConnection {}
let turns = 0

const provider: Provider = {
  name: 'heap',
  defaultModel: 'heap',
  countInput: () => 10,
  async complete({ messages }): Promise<InferenceResponse> {
    const asks = messages.at(-1)?.role === 'user'
    if (!asks) turns += 1
    if (!asks && keeps === 'everything') kept.push(new KeptTurn())
    return {
      content: asks ? '' : 'All is well.',
      tool_calls: asks ? [{ id: 'health', name: 'system_health', arguments: '{}' }] : [],
      finish_reason: asks ? 'tool_calls' : 'stop',
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      model: 'heap',
    }
  },
}

const runtime = await openRuntime({ project, provider })
const chats = runtime.coordinator
if (keeps === 'everything') {
  const connect = chats.connect.bind(chats)
  chats.connect = (caller, outbound) => {
    kept.push(new KeptConnection())
    return connect(caller, outbound)
  }
}
const service = await serve(runtime, {
  log: { write: () => undefined },
  port: 0,
  rateLimit: null, // all sockets come from one address
  legacyToken: 'child',
})
process.stdout.write(`${service.server.chatUrl}?token=child\n`)

for await (const line of createInterface({ input: process.stdin })) {
  const held: Held = {
    connections: service.server.connections,
    holders: chats.holders,
    files: existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : null,
    turns,
    living: line === 'census' ? await living() : null,
  }
  process.stdout.write(`${JSON.stringify(held)}\n`)
}
await service.close({ drainMs: 0 })

/** Collected until nothing more goes: the garbage of the last look goes in several rounds. */
async function living(): Promise<Living> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0, inVain = 0; round < ROUNDS_MAX && inVain < 4; round += 1) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve)) // finalizers run between two turns of the loop
    const { heapUsed, external } = process.memoryUsage()
    inVain = heapUsed + external < least ? 0 : inVain + 1
    least = Math.min(least, heapUsed + external)
  }
  return { bytes: least, census: await census() }
}
