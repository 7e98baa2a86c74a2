/** The program of a stdio server: a command, a folder below the project, and a short list of variables. */
import { join, sep } from 'node:path'
import { Fault } from '../core/index.ts'
import type { Program, World } from '../world/index.ts'
import type { StdioServer } from './server-entry.ts'

/** What a program needs to find others and its own files; nothing else of our environment reaches it unasked. */
const HANDED_ON = ['HOME', 'LANG', 'PATH', 'TMPDIR']

/** Throws `UPSTREAM_UNAVAILABLE` when a variable or the folder is not there. */
export async function programOf(
  world: World,
  server: StdioServer,
  root: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Program> {
  const own: Record<string, string> = {}
  for (const name of HANDED_ON) if (env[name] !== undefined) own[name] = env[name]
  for (const name of server.envFrom) own[name] = variable(env, name)
  const cwd = await world.files.realpath(join(root, server.cwd ?? '.'))
  if (cwd === null || (cwd !== root && !cwd.startsWith(`${root}${sep}`))) {
    throw new Fault('UPSTREAM_UNAVAILABLE', {
      message: `Cannot use the tool server: its folder "${server.cwd ?? '.'}" is not a folder below the project`,
      hint: 'Correct "cwd" of the server',
    })
  }
  return { command: server.command, args: server.args, cwd, env: { ...own, ...server.env } }
}

/** The value is a secret: only the name is told. */
export function variable(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = env[name]
  if (value !== undefined && value !== '') return value
  throw new Fault('UPSTREAM_UNAVAILABLE', {
    message: `Cannot use the tool server: the environment variable "${name}" is not set`,
    hint: `Set "${name}", or take it out of the server's table`,
  })
}
