import { expect, test } from 'vitest'
import { openBudget } from '../../src/budget/index.ts'
import { issue } from '../../src/calls/grant.ts'
import { authorizationBinding } from '../../src/calls/index.ts'
import { newId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type ProposedAction, Recorder } from '../../src/events/index.ts'
import { act } from '../../src/loop/act.ts'
import type { Gated } from '../../src/loop/gate.ts'
import { Run } from '../../src/loop/run.ts'
import { toolbox } from '../../src/tools/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { allowAll } from '../support/gates.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { modelOf } from '../support/scripted-model.ts'
import { toolOf } from '../support/tools.ts'

const world = nodeWorld()
const never = new AbortController().signal

/** A run that stands before its act step, and the grants of these actions, as the gate step leaves them. */
function gatedRun(actions: readonly ProposedAction[]) {
  const log = new MemoryLog()
  const tool = toolOf('look')
  const box = toolbox({ tools: [tool] }, world)
  const principal = newId('agent', world.random)
  const recorder = new Recorder(log, principal, () => world.clock.wall())
  const deadlineMs = world.clock.monotonicMs() + 60_000
  const run = new Run({
    setup: {
      world,
      principal,
      provider: modelOf(),
      gate: allowAll,
      toolbox: box,
      log,
      config: DEFAULT_LOOP_CONFIG,
      messages: [],
    },
    config: DEFAULT_LOOP_CONFIG,
    startedAt: world.clock.wall(),
    startedMs: world.clock.monotonicMs(),
    deadlineMs,
    budget: openBudget(1000, world),
    recorder,
    trustedContext: {},
    tools: box.definitions(),
    messages: [],
  })
  const granted = actions.map((action) => {
    const call = box.prepare(action, box.definitions())
    const binding = authorizationBinding(run.context())
    const grant = issue({ call, toolbox: 'ToolCall' in action ? box : null, binding, deadlineMs })
    return { kind: 'Granted' as const, grant, evidence: {} }
  })
  return { run, log, tool, gated: { kind: 'gated', granted } as unknown as Gated }
}

const LOOK: ProposedAction = { ToolCall: { call_id: 'a', name: 'look', arguments: '{}' } }
const ANSWER: ProposedAction = { Respond: { content: 'done' } }

test('a granted call is dispatched, and the loop goes on', async () => {
  const { run, tool, gated } = gatedRun([LOOK])
  expect(await act(run, gated, never)).toMatchObject({ kind: 'acted', output: null, unconfirmed: false })
  expect(tool.ran).toHaveLength(1)
})

test('a batch that holds an approved answer ends with it, and its calls are not executed', async () => {
  const { run, log, tool, gated } = gatedRun([LOOK, ANSWER])
  expect(await act(run, gated, never)).toMatchObject({ kind: 'acted', output: 'done' })
  expect(tool.ran).toHaveLength(0)
  await run.recorder.commit()
  expect(log.all('ToolDispatchStarted')).toHaveLength(0)
  expect(log.all('ToolsDispatched')).toMatchObject([{ tool_count: 0 }])
})

test('an approved end of the work ends with what it was asked to leave behind', async () => {
  const { run, gated } = gatedRun([{ Terminate: { reason: 'nothing left', output: 'all seen' } }])
  expect(await act(run, gated, never)).toMatchObject({ kind: 'acted', output: 'all seen', unconfirmed: false })
})

test('a delegation in a run that cannot delegate is refused, and nothing is unconfirmed', async () => {
  const { run, gated } = gatedRun([{ Delegate: { call_id: 'a', target: 'helper', message: 'help' } }])
  expect(await act(run, gated, never)).toMatchObject({ kind: 'acted', output: null, unconfirmed: false })
  expect(run.messages).toMatchObject([
    { role: 'tool', content: '[Error] the delegation was refused: this run cannot delegate', tool_call_id: 'a' },
  ])
})

test('a grant of a run that has gone on meanwhile is told as a denial, and nothing is executed', async () => {
  const { run, tool, gated } = gatedRun([LOOK])
  run.nextIteration()
  expect(await act(run, gated, never)).toMatchObject({ kind: 'acted', output: null })
  expect(tool.ran).toHaveLength(0)
  expect(run.messages).toMatchObject([{ role: 'tool', content: expect.stringContaining('the run changed') }])
})
