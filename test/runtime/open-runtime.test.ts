import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { LoopConfig } from '../../src/events/index.ts'
import { openRuntime, type RuntimeOptions } from '../../src/runtime/index.ts'
import { allowAll } from '../support/gates.ts'
import { modelOf } from '../support/scripted-model.ts'
import { temporaryProject } from '../support/temporary-project.ts'

const options = (root: string): RuntimeOptions => ({
  project: root,
  provider: modelOf({ content: 'well' }),
  gate: allowAll,
})

test.each<[string, object]>([
  ['no number', { max_iterations: Number.NaN }],
  ['a negative number', { max_total_tokens: -1 }],
  ['a fraction', { max_output_tokens: 0.5 }],
  ['undefined', { max_total_tokens: undefined }],
  ['a time in milliseconds', { timeout: 5000 }],
])('a limit that is %s is refused when the runtime is opened, and no id is used up', async (_, limits) => {
  using project = temporaryProject()
  const opening = openRuntime({ ...options(project.root), limits: limits as Partial<LoopConfig> })
  await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('limits') })
  expect(readdirSync(project.root)).toEqual([])
})

test.each<[string, () => void | Promise<void>]>([
  [
    'throws',
    () => {
      throw new Error('not interested')
    },
  ],
  ['rejects', () => Promise.reject(new Error('not interested'))],
  ['never comes back', () => new Promise(() => undefined)],
])('who watches a turn and %s changes nothing about it', async (_, onMessage) => {
  using project = temporaryProject()
  await using runtime = await openRuntime(options(project.root))
  const seen: string[] = []
  const reply = await runtime.ask('how is it?', {
    onMessage: ({ type }) => {
      seen.push(type)
      return onMessage()
    },
  })
  expect(reply).toMatchObject({ content: 'well', replayed: false })
  expect(seen).toEqual(['AuditOpened', 'PolicyDecision', 'ChatChunk'])
})
