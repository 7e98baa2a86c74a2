/**
 * A project folder that is gone after the test, with the policy of a fresh project: replies and the monitoring tools are
 * permitted, and nothing else. A tool of yours needs a policy of yours.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LEAST_PRIVILEGE_POLICY } from './least-privilege.ts'

export interface TemporaryProject extends AsyncDisposable, Disposable {
  /** Canonical and absolute; what `openRuntime` takes as `project`. */
  readonly path: string
  /** Writes or replaces `policies/<name>.cedar`. It is in force at the next decision. */
  policy(name: string, text: string): void
}

export interface TemporaryProjectOptions {
  /** Cedar text by file name, without `.cedar`. Default: the least privilege under "default". */
  readonly policies?: Readonly<Record<string, string>>
  /** `.symbi` text by file name, without the extension. They are read when the runtime is opened. Default: none. */
  readonly agents?: Readonly<Record<string, string>>
}

export function temporaryProject({
  policies = { default: LEAST_PRIVILEGE_POLICY },
  agents = {},
}: TemporaryProjectOptions = {}): TemporaryProject {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'symbi-project-')))
  const folder = join(path, 'policies')
  const policy = (name: string, text: string): void => writeFileSync(join(folder, `${name}.cedar`), text)
  mkdirSync(folder)
  for (const [name, text] of Object.entries(policies)) policy(name, text)
  const sources = Object.entries(agents)
  if (sources.length > 0) mkdirSync(join(path, 'agents'))
  for (const [name, text] of sources) writeFileSync(join(path, 'agents', `${name}.symbi`), text)
  const remove = (): void => rmSync(path, { recursive: true, force: true })
  return {
    path,
    policy,
    [Symbol.dispose]: remove,
    [Symbol.asyncDispose]: async () => remove(),
  }
}
