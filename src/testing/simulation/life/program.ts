/** The program that a simulated process runs: the whole runtime behind its server, put together as `symbi up` does it. */
import { SURFACE } from '../../../policy/index.ts'
import {
  openAiCompatible,
  openProject,
  openRuntime,
  projectGate,
  type Runtime,
  type Service,
  serve,
} from '../../../runtime/index.ts'
import type { World } from '../../../world/index.ts'
import type { Owner } from '../machine/turns.ts'
import type { Observer } from './observer.ts'
import type { Effects } from './outside.ts'
import { BANK, HELD_TOOLS, MODEL_URL, OWN_TOOLS, PROJECT } from './scenario.ts'

export interface Program {
  readonly runtime: Runtime
  readonly service: Service
  /** For a process that is dead: what the library keeps for the whole of the real one. */
  letGo(): void
}

export async function startProgram(
  world: World,
  owner: Owner,
  effects: Effects,
  observer: Observer,
  token: string,
): Promise<Program> {
  const report = (what: string, error: unknown): void => {
    observer.note(`reported: ${what}: ${String(error)}`)
    if (owner.alive && isBroken(error))
      observer.see({ kind: 'Broke', life: owner.life, what: `${what}: ${String(error)}` })
  }
  const project = await openProject(world, PROJECT)
  const gate = await projectGate(world, project, SURFACE.chat, {})
  try {
    const runtime = await openRuntime({
      project: PROJECT,
      provider: openAiCompatible({ baseUrl: MODEL_URL, model: 'simulated', apiKey: 'none' }, world),
      tools: OWN_TOOLS.map((name) => effects.tool(owner, name)),
      readyMade: { httpOrigins: [{ origin: BANK, methods: ['GET', 'POST'] }] },
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
    return { runtime, service, letGo: () => gate[Symbol.dispose]() }
  } catch (error) {
    gate[Symbol.dispose]()
    throw error
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
