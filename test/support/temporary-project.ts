/** A project folder that is gone after the test. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryProject extends Disposable {
  readonly root: string
  readonly governed: string
  readonly invocations: string
}

export function temporaryProject(): TemporaryProject {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'symbi-project-')))
  return {
    root,
    governed: join(root, '.symbiont/governed'),
    invocations: join(root, '.symbiont/invocations'),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  }
}
