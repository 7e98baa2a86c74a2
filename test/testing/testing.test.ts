import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { newId } from '../../src/core/index.ts'
import { openRuntime } from '../../src/runtime/index.ts'
import { listGate, recordedTool, type Script, scripted, temporaryProject, testWorld } from '../../src/testing/index.ts'

const never = new AbortController().signal

describe('testWorld', () => {
  test('gives the same bytes for the same seed, however they are asked for, and others for another', () => {
    const [first, again, other] = [testWorld({ seed: 7 }), testWorld({ seed: 7 }), testWorld({ seed: 8 })]
    const pieces = Buffer.concat([1, 15, 16, 32].map((count) => first.random.bytes(count)))
    expect(pieces.equals(again.random.bytes(64))).toBe(true)
    expect(pieces.equals(other.random.bytes(64))).toBe(false)
    expect(newId('run', first.random)).toBe(newId('run', again.random))
  })

  test('tells times that begin where it is told, and each later than the one before', () => {
    const { clock } = testWorld({ startMs: Date.UTC(2031, 4, 6) })
    expect([clock.wall(), clock.wall()]).toEqual(['2031-05-06T00:00:00.000000Z', '2031-05-06T00:00:00.000001Z'])
  })

  test('moves its hands only when told, and both clocks together', async () => {
    const { clock, advance } = testWorld({ startMs: 0 })
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(clock.monotonicMs()).toBe(0)
    await advance(90_000)
    expect(clock.monotonicMs()).toBe(90_000)
    expect(clock.wall()).toBe('1970-01-01T00:01:30.000000Z')
  })

  test('fires timers in the order of their ends, at their time, those included that were armed on the way', async () => {
    const { clock, advance } = testWorld()
    const fired: string[] = []
    const note = (name: string) => (): void => void fired.push(`${name} at ${clock.monotonicMs()}`)
    clock.timer(300, note('last'))
    clock.timer(100, () => {
      note('first')()
      clock.timer(50, note('armed on the way'))
    })
    clock.timer(200, note('cancelled'))()
    await advance(299)
    expect(fired).toEqual(['first at 100', 'armed on the way at 150'])
    await advance(1)
    expect(fired.at(-1)).toBe('last at 300')
  })

  test('a long sleep ends when the hands pass its end, or with its signal', async () => {
    const { clock, advance } = testWorld()
    const cancel = new AbortController()
    const [slept, cancelled] = [clock.sleep(3_600_000, never), clock.sleep(3_600_000, cancel.signal)]
    cancel.abort(new Error('enough'))
    await expect(cancelled).rejects.toThrow('enough')
    await expect(clock.sleep(1, cancel.signal)).rejects.toThrow('enough')
    await advance(3_600_000)
    await slept
  })

  test('a short wait ends by itself and leaves the hands alone, so a poll for a lock gets on', async () => {
    const { clock } = testWorld()
    await clock.sleep(10, never)
    expect(clock.monotonicMs()).toBe(0)
  })
})

const script: Script = {
  model: 'demo',
  rules: [
    { when: { last_role: 'user' }, reply: { tool_calls: [{ id: 'call-1', name: 'note', arguments: { line: 'a' } }] } },
    { when: { last_role: 'tool' }, reply: { content: 'Noted: {{last}}' } },
  ],
}

/** One turn in a folder that is always at the same place, so that a journal that names its own path can be compared. */
async function turnWith(seed: number, root: string): Promise<Buffer> {
  const world = testWorld({ seed })
  const provider = await scripted({ script }, world)
  const gate = listGate({ allow: ['note', 'respond'] })
  await using runtime = await openRuntime({ project: root, provider, tools: [recordedTool('note')], gate, world })
  const { audit } = await runtime.ask('Take a note')
  return readFileSync(audit.path)
}

test('the same seed and steps give the same journal, byte for byte', async () => {
  using first = temporaryProject()
  const before = await turnWith(5, first.path)
  rmSync(join(first.path, '.symbiont'), { recursive: true })
  expect((await turnWith(5, first.path)).equals(before)).toBe(true)
  rmSync(join(first.path, '.symbiont'), { recursive: true })
  expect((await turnWith(6, first.path)).equals(before)).toBe(false)
})

describe('doubles', () => {
  test.each([
    ['allow', { allow: ['note', 'respond'] }, 1, [true, true]],
    ['deny', { deny: ['note'] }, 0, [false, true]],
  ] as const)('a list gate that goes by its %s list, and a tool that counts', async (_name, rule, runs, answers) => {
    await using project = temporaryProject()
    const world = testWorld()
    const gate = listGate(rule)
    const note = recordedTool('note', { answer: async ({ line }) => `line ${String(line)}` })
    const provider = await scripted({ script }, world)
    await using runtime = await openRuntime({ project: project.path, provider, tools: [note], gate, world })
    const { content } = await runtime.ask('Take a note')
    expect(note.ran).toEqual(Array.from({ length: runs }, () => ({ line: 'a' })))
    expect(gate.asked).toEqual([
      { name: 'note', allowed: answers[0] },
      { name: 'respond', allowed: answers[1] },
    ])
    expect(content).toContain(runs === 1 ? 'Noted: ' : 'not allowed by the list')
  })

  test('a temporary project permits replies and monitoring, nothing else, and is gone afterwards', async () => {
    const world = testWorld()
    const note = recordedTool('note')
    const project = temporaryProject()
    {
      const provider = await scripted({ script }, world)
      await using runtime = await openRuntime({ project: project.path, provider, tools: [note], world })
      expect((await runtime.ask('Take a note')).content).toContain('[Policy denied]')
      project.policy('note', 'permit(principal, action == Action::"tool_call::note", resource);')
      expect((await runtime.ask('Take a note')).content).toContain('done')
      expect(note.ran).toHaveLength(1)
    }
    expect(readdirSync(project.path)).toContain('.symbiont')
    project[Symbol.dispose]()
    expect(existsSync(project.path)).toBe(false)
  })
})
