/**
 * The command line as a person meets it: real processes that run the built program. `npm run check` builds before it tests;
 * for a single file, run `npm run build` first.
 *
 * The processes see a small environment of their own, so that keys of the developer's shell choose no model here.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import type { Console } from '../../src/cli/console.ts'
import { run } from '../../src/cli/program.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { BRIEF } from './child-script.ts'
import { type TemporaryFolder, temporaryFolder } from './folder.ts'
import { NO_ORPHAN } from './no-orphan.ts'
import { ROOT } from './sources.ts'

export const PROGRAM = join(ROOT, 'bin', 'symbi.js')

export interface Ran {
  /** Null when a signal ended the process. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  /** What is typed, and then the end of input. */
  readonly input?: string
  readonly cwd?: string
}

/** Runs a command to its end. */
export async function symbi(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const running = start(args, options)
  running.child.stdin.end(options.input ?? '')
  return await running.ended
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<Ran>
  /** What was printed until now. */
  stdout(): string
  stderr(): string
  /** Resolves once the text stands in the output; rejects when the process ends without it. */
  printed(stream: 'stdout' | 'stderr', text: string | RegExp): Promise<void>
}

/** Starts a command and does not wait. Its standard input stays open. It ends with this process at the latest. */
export function start(args: readonly string[], { env = {}, cwd }: RunOptions = {}): Running {
  if (!existsSync(join(ROOT, 'dist', 'symbi', 'symbi.js')))
    throw new Error('the program is not built: run "npm run build"')
  const child = spawn(process.execPath, [...BRIEF, ...NO_ORPHAN, PROGRAM, ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', NO_COLOR: '1', ...env },
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    ...(cwd === undefined ? {} : { cwd }),
  }) as ChildProcessWithoutNullStreams
  const text = { stdout: '', stderr: '' }
  const watchers = new Set<() => void>()
  const tell = (): void => {
    for (const watcher of [...watchers]) watcher()
  }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk
      tell()
    })
  }
  child.stdin.on('error', () => undefined) // a command that reads no input may be gone before it gets any
  let over = false
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      over = true
      resolve({ code, signal, ...text })
      tell()
    })
  })
  return {
    child,
    ended,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    printed: (stream, wanted) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const isThere = typeof wanted === 'string' ? text[stream].includes(wanted) : wanted.test(text[stream])
          if (!isThere && !over) return
          watchers.delete(look)
          if (isThere) resolve()
          else reject(new Error(`the process ended without printing ${String(wanted)}\n${text.stdout}\n${text.stderr}`))
        }
        watchers.add(look)
        look()
      }),
  }
}

export interface RunningServer extends Running, AsyncDisposable {
  /** `http://…` */
  readonly api: string
  /** `ws://…/ws/chat` */
  readonly ws: string
  /** Asks it to end and waits until it has. */
  stop(signal?: NodeJS.Signals): Promise<Ran>
}

/** `symbi up --port 0 --json`, resolved when it listens. Disposing kills what still runs. */
export async function startUp(
  project: string,
  args: readonly string[] = [],
  options: RunOptions = {},
): Promise<RunningServer> {
  const running = start(['up', '--project', project, '--port', '0', '--json', ...args], options)
  try {
    await running.printed('stdout', '\n')
  } catch (error) {
    running.child.kill('SIGKILL')
    throw error
  }
  const { api, ws } = JSON.parse(running.stdout()) as { readonly api: string; readonly ws: string }
  return {
    ...running,
    api,
    ws,
    stop: async (signal = 'SIGTERM') => {
      running.child.kill(signal)
      return await running.ended
    },
    [Symbol.asyncDispose]: async () => {
      running.child.kill('SIGKILL')
      await running.ended
    },
  }
}

export interface DemoProject extends TemporaryFolder {
  /** The admin token that `init` left in `.symbiont/chat.token`. */
  readonly token: string
}

/** A fresh project, made by `symbi init` in this process, which costs a tenth of starting one. */
export async function demoProject(): Promise<DemoProject> {
  const folder = await temporaryFolder()
  const { code, stderr } = await inProcess(['init', '--project', folder.path, '--no-interact'])
  if (code !== 0) throw new Error(`symbi init ended with ${code}: ${stderr}`)
  const token = (await readFile(folder.of('.symbiont', 'chat.token'), 'utf8')).trim()
  return { ...folder, token }
}

/** Runs a command in this process, for what no real machine can be brought to: a world that fails, or is another one. */
export async function inProcess(
  args: readonly string[],
  {
    env = {},
    input = '',
    typed = null,
    world = nodeWorld(),
  }: {
    readonly env?: Readonly<Record<string, string>>
    readonly input?: string | Uint8Array
    /** Lines that a person types at a terminal. */
    readonly typed?: readonly string[] | null
    readonly world?: World
  } = {},
): Promise<Ran> {
  const lines = { stdout: '', stderr: '' }
  const console: Console = {
    result: (line) => {
      lines.stdout += `${line}\n`
    },
    note: (line) => {
      lines.stderr += `${line}\n`
    },
    progress: () => undefined,
    paint: (_style, text) => text,
    interactive: false,
    typed: typed !== null,
    input: async () => Buffer.from(input as string),
    async *lines() {
      yield* typed ?? []
    },
    wire: () => ({ input: Readable.from([input]), output: new PassThrough() }),
    onInterrupt: () => () => undefined,
  }
  const code = await run(args, { world, env, console })
  return { code, signal: null, ...lines }
}

/** The JSON lines of an output. */
export function jsonLines(text: string): readonly Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
}
