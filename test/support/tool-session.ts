/** Tool sessions for tests: time that stands still, a log in memory, and tools that count what really ran. */
import type { Toolbox } from '../../src/calls/index.ts'
import { durationOf, newId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type LoopConfig, type ProposedAction } from '../../src/events/index.ts'
import { type BrokerCall, GovernedToolSession, type SessionSetup } from '../../src/session/index.ts'
import { type TestWorld, testWorld } from '../../src/testing/test-world.ts'
import { type Tool, toolbox } from '../../src/tools/index.ts'
import { allowAll } from './gates.ts'
import { MemoryLog } from './memory-log.ts'
import { toolOf } from './tools.ts'

export const never = new AbortController().signal

export const callOf = (call_id: string, name = 'look', args: BrokerCall['arguments'] = {}): BrokerCall => ({
  call_id,
  name,
  arguments: args,
})

export const actionOf = (call_id: string, name = 'host_fixture', text = '{}'): ProposedAction => ({
  ToolCall: { call_id, name, arguments: text },
})

export interface SessionBench {
  readonly world: TestWorld
  readonly log: MemoryLog
  readonly setup: SessionSetup
  start(signal?: AbortSignal): Promise<GovernedToolSession>
}

export interface BenchParts extends Partial<Omit<SessionSetup, 'config' | 'world' | 'log'>> {
  readonly world?: TestWorld
  readonly log?: MemoryLog
  readonly tools?: readonly Tool[]
  readonly box?: (inner: Toolbox) => Toolbox
  readonly limits?: Partial<LoopConfig>
}

export function sessionBench(parts: BenchParts = {}): SessionBench {
  const { world = testWorld(), log = new MemoryLog(), tools = [toolOf('look')], box, limits, ...setup } = parts
  const inner = toolbox({ tools }, world)
  const whole: SessionSetup = {
    world,
    principal: newId('agent', world.random),
    gate: allowAll,
    toolbox: box?.(inner) ?? inner,
    log,
    config: { ...DEFAULT_LOOP_CONFIG, ...limits },
    ...setup,
  }
  return { world, log, setup: whole, start: (signal = never) => GovernedToolSession.start(whole, signal) }
}

export interface Heard {
  readonly cancelled: (readonly [runKey: string, deadlineMs: number])[]
  readonly cleaned: string[]
}

/** A toolbox in front of another, that says what it was told. */
export function heardBox(heard: Heard, inner: Toolbox, changes: Partial<Toolbox> = {}): Toolbox {
  return {
    ...inner,
    cancelRun: (runKey, deadlineMs) => {
      heard.cancelled.push([runKey, deadlineMs])
      inner.cancelRun(runKey, deadlineMs)
    },
    cleanUp: async (runKey) => {
      heard.cleaned.push(runKey)
      await inner.cleanUp(runKey)
    },
    ...changes,
  }
}

export const nothingHeard = (): Heard => ({ cancelled: [], cleaned: [] })

export const ms = durationOf

export interface Latch<T = void> {
  readonly promise: Promise<T>
  readonly open: (value: T) => void
}

export function latch<T = void>(): Latch<T> {
  let open: (value: T) => void = () => undefined
  const promise = new Promise<T>((done) => {
    open = done
  })
  return { promise, open }
}

export const forever = (): Promise<never> => new Promise(() => undefined)

/** True while a promise is pending, after everything that was ready has run. */
export async function isPending(world: TestWorld, promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const note = (): void => {
    settled = true
  }
  promise.then(note, note)
  for (let turn = 0; turn < 5; turn += 1) await world.clock.yield()
  return !settled
}
