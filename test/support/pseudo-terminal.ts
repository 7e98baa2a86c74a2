/**
 * A process with a terminal of its own, as a person has one, made by `script` of util-linux. Where that is missing, the
 * tests that want it are skipped with that reason.
 */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { PROGRAM } from './cli.ts'

/** Null when `inTerminal` works here, or the reason why it does not. */
export function whyNoTerminal(): string | null {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
      ? null
      : 'the program "script" is not that of util-linux'
  } catch {
    return 'there is no program "script"'
  }
}

export interface InTerminal extends AsyncDisposable {
  /** Everything that was shown so far, with the line ends of a program. */
  screen(): string
  /** Resolves with the match once it is on the screen, in what was shown from this place on. */
  shown(wanted: RegExp, from?: number): Promise<RegExpExecArray>
  type(text: string): void
  /** The exit code. */
  readonly ended: Promise<number | null>
}

/** Runs `symbi` under a terminal. What follows the words goes through a shell: a redirection, for example. */
export function inTerminal(words: readonly string[], behind = ''): InTerminal {
  const line = [process.execPath, PROGRAM, ...words].map((word) => `'${word}'`).join(' ')
  return terminalOf(`${line} ${behind}`, { env: { SYMBIONT_REQUIRE_APPROVAL_TOOLS: 'system_health' } })
}

/** Runs a command line of the shell under a terminal; it ends with its command. */
export function terminalOf(
  line: string,
  { env = {}, cwd }: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): InTerminal {
  const child: ChildProcessWithoutNullStreams = spawn('script', ['-qefc', `exec ${line}`, '/dev/null'], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', NO_COLOR: '1', SHELL: '/bin/sh', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  let text = ''
  const watchers = new Set<() => void>()
  const tell = (): void => {
    for (const watcher of [...watchers]) watcher()
  }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk.replaceAll('\r\n', '\n')
    tell()
  })
  child.stdin.on('error', () => undefined)
  let over = false
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      over = true
      resolve(code)
      tell()
    })
  })
  return {
    screen: () => text,
    shown: (wanted, from = 0) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = wanted.exec(text.slice(from))
          if (match === null && !over) return
          watchers.delete(look)
          if (match === null) reject(new Error(`the process ended without showing ${wanted}\n${text}`))
          else resolve(match)
        }
        watchers.add(look)
        look()
      }),
    type: (typed) => void child.stdin.write(typed),
    ended,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
