/** Upstreams on the real World and the test servers, with what was told of them. */
import { fileURLToPath } from 'node:url'
import type { EffectHandle } from '../../../src/calls/index.ts'
import type { JsonObject } from '../../../src/core/index.ts'
import type { ToolEffect } from '../../../src/events/index.ts'
import type { Tool, ToolAnswer } from '../../../src/tools/index.ts'
import {
  type HttpServer,
  type StdioServer,
  type UpstreamNews,
  type UpstreamServer,
  Upstreams,
} from '../../../src/upstream/index.ts'
import { nodeWorld, type World } from '../../../src/world/index.ts'
import { type TemporaryFolder, temporaryFolder } from '../folder.ts'

export const STDIO_SERVER = fileURLToPath(new URL('./stdio-server.mjs', import.meta.url))
export const SDK_SERVER = fileURLToPath(new URL('./sdk-server.mjs', import.meta.url))

export function stdioServer(
  name: string,
  mode: string,
  more: Partial<StdioServer> & { effects?: string } = {},
): StdioServer {
  const { effects, ...rest } = more
  return {
    name,
    transport: 'stdio',
    command: process.execPath,
    args: [STDIO_SERVER, mode, ...(effects === undefined ? [] : [effects])],
    env: {},
    envFrom: [],
    cwd: null,
    expose: '*',
    risk: 'medium',
    approval: false,
    errorAnswers: 'unknown',
    startTimeoutMs: 20_000,
    callTimeoutMs: 20_000,
    ...rest,
  }
}

export function httpServer(name: string, url: string, more: Partial<HttpServer> = {}): HttpServer {
  return {
    name,
    transport: 'http',
    url,
    headersEnv: {},
    expose: '*',
    risk: 'medium',
    approval: false,
    errorAnswers: 'unknown',
    startTimeoutMs: 20_000,
    callTimeoutMs: 20_000,
    ...more,
  }
}

export interface Bench extends AsyncDisposable {
  readonly folder: TemporaryFolder
  readonly pinFile: string
  readonly upstreams: Upstreams
  readonly news: UpstreamNews[]
  tool(name: string): Tool
  call(name: string, args?: JsonObject, how?: CallOptions): Promise<ToolAnswer>
  /** Ends these servers and opens others on the same pins. */
  again(...servers: readonly UpstreamServer[]): Promise<Bench>
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly effects?: ToolEffect[]
  readonly deadlineMs?: number
}

interface BenchOptions {
  readonly world?: World
  readonly folder?: TemporaryFolder
  readonly taken?: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
}

export async function benchOf(servers: readonly UpstreamServer[], options: BenchOptions = {}): Promise<Bench> {
  const world = options.world ?? nodeWorld()
  const folder = options.folder ?? (await temporaryFolder())
  const news: UpstreamNews[] = []
  const pinFile = folder.of('.symbiont', 'mcp-pins.json')
  const upstreams = await Upstreams.open(world, {
    servers,
    root: folder.path,
    pinFile,
    env: options.env ?? { PATH: process.env.PATH },
    taken: options.taken ?? [],
    report: (item) => news.push(item),
  })
  const tool = (name: string): Tool => {
    const found = upstreams.tools().find(({ definition }) => definition.name === name)
    if (found === undefined) throw new Error(`no tool ${name}; ${JSON.stringify([...upstreams.unavailable])}`)
    return found
  }
  return {
    folder,
    pinFile,
    upstreams,
    news,
    tool,
    call: async (name, args = {}, { signal, effects, deadlineMs } = {}) =>
      tool(name).run(args, {
        signal: signal ?? new AbortController().signal,
        effects: keeping(effects ?? []),
        deadlineMs: deadlineMs ?? world.clock.monotonicMs() + 30_000,
      }),
    again: async (...next) => {
      await upstreams.close()
      return benchOf(next, { ...options, folder })
    },
    [Symbol.asyncDispose]: async () => {
      await upstreams.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

function keeping(kept: ToolEffect[]): EffectHandle {
  return {
    record: async (effect) => {
      kept.push(effect)
    },
  }
}
