/** The program that a simulated process runs: the whole runtime behind its server, put together as `symbi up` does it. */
import { SURFACE } from '../../../policy/index.ts'
import {
  openAiCompatible,
  openProject,
  openRuntime,
  projectGate,
  type ReadyMadeTools,
  type Runtime,
  type Service,
  serve,
} from '../../../runtime/index.ts'
import { type UpstreamNews, type UpstreamServer, Upstreams } from '../../../upstream/index.ts'
import type { World } from '../../../world/index.ts'
import { connectionLost } from '../machine/sim-net.ts'
import type { Owner } from '../machine/turns.ts'
import { PINS } from './foreign-server.ts'
import type { Observer } from './observer.ts'
import type { Effects } from './outside.ts'
import { BANK, HELD_TOOLS, MODEL_URL, OWN_TOOLS, PROJECT } from './scenario.ts'

export interface Program {
  readonly runtime: Runtime
  readonly service: Service
  close(drainMs: number): Promise<void>
}

/** Whose tools there are. */
export interface ForeignAndOwn {
  readonly effects: Effects
  readonly servers: readonly UpstreamServer[]
  /** What a process tells of them. */
  hear(news: UpstreamNews): void
}

/** What the library keeps for the whole of the real process is let go of when the simulated one is dead. */
export type AtDeath = (letGo: () => void) => void

/** Every program may ask the bank. */
export const READY_MADE: ReadyMadeTools = { httpOrigins: [{ origin: BANK, methods: ['GET', 'POST'] }] }

export async function startProgram(
  world: World,
  owner: Owner,
  tools: ForeignAndOwn,
  observer: Observer,
  { token, atDeath }: { readonly token: string; readonly atDeath: AtDeath },
): Promise<Program> {
  const report = reportTo(observer, owner)
  const project = await openProject(world, PROJECT)
  const gate = await projectGate(world, project, SURFACE.chat, {})
  atDeath(() => gate[Symbol.dispose]())
  const upstreams = await openForeign(world, tools, observer, atDeath)
  try {
    const runtime = await openRuntime({
      project: PROJECT,
      provider: openAiCompatible({ baseUrl: MODEL_URL, model: 'simulated', apiKey: 'none' }, world),
      tools: [...OWN_TOOLS.map((name) => tools.effects.tool(owner, name)), ...upstreams.tools()],
      readyMade: READY_MADE,
      gate,
      approvals: { tools: HELD_TOOLS, timeoutMs: 60_000 },
      report,
      world,
    })
    const service = await serve(runtime, {
      log: {
        write: (level, message, facts) => {
          if (level === 'error' || level === 'warn') report(`log: ${message}`, facts?.error ?? facts?.code ?? '')
        },
      },
      legacyToken: token,
      port: 0,
      rateLimit: null,
    }).catch(async (error: unknown) => {
      await runtime.close()
      throw error
    })
    const close = async (drainMs: number): Promise<void> => {
      try {
        await service.close({ drainMs })
      } finally {
        await upstreams.close()
      }
    }
    return { runtime, service, close }
  } catch (error) {
    await upstreams.close()
    throw error
  }
}

/** What it is told goes into the trace, and what nothing outside can cause is seen as broken. */
export function reportTo(observer: Observer, owner: Owner): (what: string, error: unknown) => void {
  return (what, error) => {
    observer.note(`reported: ${what}: ${String(error)}`)
    if (owner.alive && isBroken(error))
      observer.see({ kind: 'Broke', life: owner.life, what: `${what}: ${String(error)}` })
  }
}

/** The foreign servers of a life, as one process uses them. */
export async function openForeign(
  world: World,
  { servers, hear }: ForeignAndOwn,
  observer: Observer,
  atDeath: AtDeath,
): Promise<Upstreams> {
  const upstreams = await Upstreams.open(mourned(world, atDeath), {
    servers,
    root: PROJECT,
    pinFile: PINS,
    env: {},
    report: (news) => {
      observer.note(`foreign: ${JSON.stringify(news).slice(0, 200)}`)
      hear(news)
    },
  })
  atDeath(() => void upstreams.close())
  return upstreams
}

/**
 * The World of foreign servers: their library has timers of its own, which end with the questions that they are for. So what
 * waits in a process that is dead is told.
 */
function mourned(world: World, atDeath: AtDeath): World {
  const waiting = new Set<(error: Error) => void>()
  let isDead = false
  atDeath(() => {
    isDead = true
    for (const reject of waiting) reject(connectionLost())
  })
  const told = async <T>(work: Promise<T>): Promise<T> => {
    work.catch(() => undefined) // nobody may wait for it any more
    if (isDead) throw connectionLost()
    let stop: (error: Error) => void = () => undefined
    const death = new Promise<never>((_, reject) => {
      stop = reject
    })
    waiting.add(stop)
    try {
      return await Promise.race([work, death])
    } finally {
      waiting.delete(stop)
    }
  }
  return {
    ...world,
    clock: { ...world.clock, sleep: (ms, signal) => told(world.clock.sleep(ms, signal)) },
    net: {
      ...world.net,
      resolve: (name, signal) => told(world.net.resolve(name, signal)),
      request: (request, signal) => told(world.net.request(request, signal)),
    },
  }
}

/** Of our own making, and nothing that a disk, a network or a client can cause. */
function isBroken(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.name === 'Bug' ||
      error instanceof TypeError ||
      error instanceof RangeError ||
      error instanceof ReferenceError)
  )
}
