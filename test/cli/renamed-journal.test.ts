/** A journal of a run under a name of the legacy format: with its run it would lose its links, and what is unknown of it. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openRuntime, scripted } from '../../src/runtime/index.ts'
import { inProcess } from '../support/cli.ts'
import { HEALTH_SCRIPT, testProject, world } from './support.ts'

test('a journal of a run is refused under the legacy name AGENT.jsonl, alone and in a folder [J2]', async () => {
  await using project = await testProject()
  {
    await using runtime = await openRuntime({
      project: project.path,
      provider: await scripted({ text: HEALTH_SCRIPT }, world),
    })
    await runtime.ask('Inspect')
  }
  const key = (await inProcess(['audit', 'key', '--project', project.path])).stdout.trim()
  const [name = ''] = project.journals()
  const copies = project.of('copies')
  mkdirSync(copies)
  const renamed = join(copies, `${name.slice(0, 36)}.jsonl`)
  copyFileSync(join(project.governed, name), renamed)
  for (const place of [renamed, copies]) {
    const done = await inProcess(['audit', 'verify', place, '--complete', '--public-key', key])
    expect(done.code, place).toBe(1)
    expect(done.stdout + done.stderr, place).toContain('record 0 belongs to a run, and the legacy format names none')
  }
})
