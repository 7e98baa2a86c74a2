/** What the tests of this folder share: grants as dispatch would issue them, a scope, and a clock that a test moves. */
import { issue } from '../../src/calls/grant.ts'
import {
  type EffectHandle,
  type ExecutionScope,
  type Grant,
  type PreparedCall,
  spend,
  type Toolbox,
} from '../../src/calls/index.ts'
import { digest, type JsonObject } from '../../src/core/index.ts'
import type { ProposedAction, ToolEffect } from '../../src/events/index.ts'
import { type Tool, toolbox } from '../../src/tools/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'

export const world = nodeWorld()

export function toolCall(name: string, args: string, call_id = 'call-1'): ProposedAction {
  return { ToolCall: { call_id, name, arguments: args } }
}

export function prepared(box: Toolbox, name: string, args = '{}', callId = 'call-1'): PreparedCall {
  return box.prepare(toolCall(name, args, callId), box.definitions())
}

export function grantOf(call: PreparedCall, box: Toolbox): Grant {
  return issue({ call, toolbox: box, binding: digest('test'), deadlineMs: world.clock.monotonicMs() + 60_000 })
}

export function scopeOf(parts: Partial<ExecutionScope> = {}): ExecutionScope {
  return {
    runKey: 'agent:now',
    deadlineMs: world.clock.monotonicMs() + 60_000,
    effectsOf: () => recordInto([]),
    ...parts,
  }
}

export function recordInto(effects: ToolEffect[]): EffectHandle {
  return {
    record: async (effect) => {
      effects.push(effect)
    },
  }
}

export const NO_ARGUMENTS: JsonObject = { type: 'object', properties: {}, additionalProperties: false }

export function tool(name: string, run: Tool['run'], parameters: JsonObject = NO_ARGUMENTS): Tool {
  return { definition: { name, description: `The tool ${name}`, parameters }, run }
}

/** A world whose monotonic clock stands still until a test moves it. */
export function handClock(startMs = 1_000): { readonly world: Pick<World, 'clock'>; pass(ms: number): void } {
  let nowMs = startMs
  return {
    world: { clock: { ...world.clock, monotonicMs: () => nowMs } },
    pass: (ms) => {
      nowMs += ms
    },
  }
}

/** A promise and the function that fulfils it. */
export function signalled<T = void>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil
  })
  return { promise, resolve }
}

/** What the tools answer, as a run would get it: prepared, judged by nobody, and executed under a grant. */
export function asked(tools: readonly Tool[], parts: Partial<ExecutionScope> = {}) {
  const box = toolbox({ tools }, world)
  return async (
    name: string,
    args: unknown,
    signal = new AbortController().signal,
  ): Promise<{
    readonly call: PreparedCall
    readonly is_error: boolean
    readonly content: string
    readonly said: Said
  }> => {
    const call = prepared(box, name, typeof args === 'string' ? args : JSON.stringify(args))
    const [observation] = await box.execute([spend(grantOf(call, box))], scopeOf(parts), signal)
    if (observation === undefined) throw new Error('there is no answer')
    const { content, is_error } = observation
    return { call, is_error, content, said: content.startsWith('{') ? JSON.parse(content) : {} }
  }
}

/** An answer that was read as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
type Said = any
