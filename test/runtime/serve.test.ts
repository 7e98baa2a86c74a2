import { expect, test } from 'vitest'
import { Fault } from '../../src/core/index.ts'
import { type Log, nodeWorld, openRuntime, serve, type World } from '../../src/runtime/index.ts'
import { allowAll } from '../support/gates.ts'
import { modelOf } from '../support/scripted-model.ts'
import { temporaryProject } from '../support/temporary-project.ts'

/** A world whose n-th replacement of a file fails. */
function failingAt(replacement: number): World {
  const world = nodeWorld()
  let count = 0
  const rename: World['files']['rename'] = (from, to) => {
    count += 1
    if (count === replacement) throw new Fault('STORAGE_FULL', { message: 'Cannot store: scripted' })
    return world.files.rename(from, to)
  }
  return { ...world, files: { ...world.files, rename } }
}

test.each([
  [1, 'before it listens'],
  [2, 'after it listens'],
])('a server whose note cannot be written (%i: %s) does not serve, and the project is free', async (replacement) => {
  using project = temporaryProject()
  const ports: unknown[] = []
  const log: Log = { write: (_, event, facts) => void (event === 'listening' && ports.push(facts?.port)) }
  const parts = { project: project.root, provider: modelOf({ content: 'well' }), gate: allowAll }
  await using runtime = await openRuntime({ ...parts, world: failingAt(replacement) })
  await expect(serve(runtime, { log, port: 0 })).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  for (const port of ports) await expect(fetch(`http://127.0.0.1:${port}/api/v1/health`)).rejects.toThrow()
  await using again = await openRuntime(parts)
  await using service = await serve(again, { log, port: 0 })
  expect((await fetch(`${service.server.url}/api/v1/health`)).status).toBe(200)
})
