/**
 * Real child processes. Each leads a process group, so that what it starts can be ended with it; no shell reads its
 * arguments, and it gets no variable and no open file that it was not given.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { Fault } from '../core/index.ts'
import type { Child, ChildExit, Program } from './world.ts'

/** What a child wrote before it ended arrives in this time; who holds its pipes open longer is none of its group. */
const DRAIN_MS = 500

/** Leaders of the groups that are alive. A process that exits without closing them must not leave them behind. */
const leaders = new Set<number>()
let watching = false

export async function spawnChild(program: Program): Promise<Child> {
  const child = spawn(program.command, program.args, {
    cwd: program.cwd,
    env: { ...program.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    shell: false,
    detached: true,
  })
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause: NodeJS.ErrnoException) => reject(cannotStart(program, cause)))
  })
  const pid = child.pid as number
  child.on('error', () => undefined) // a signal that could not be sent: `end` looks whether the group is gone
  leaders.add(pid)
  watchTheEnd()
  void exited.then(() => {
    signalGroup(pid, 'SIGKILL') // what a leader leaves behind has no owner any more
    leaders.delete(pid)
    letGo(child)
  })
  let ending: Promise<void> | null = null
  return {
    pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    end: (graceMs) => {
      child.stdin.end()
      ending ??= endGroup(pid, exited, graceMs)
      return ending
    },
  }
}

async function endGroup(pid: number, exited: Promise<ChildExit>, graceMs: number): Promise<void> {
  if (!leaders.has(pid)) return
  const timers = [
    setTimeout(() => signalGroup(pid, 'SIGTERM'), graceMs / 2),
    setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs),
  ]
  await exited
  for (const timer of timers) clearTimeout(timer)
}

/** A process that left the group may still hold the pipes: it must not hold us, and nobody may hear it in the child's name. */
function letGo({ stdin, stdout, stderr }: ChildProcessWithoutNullStreams): void {
  const timer = setTimeout(() => {
    for (const stream of [stdin, stdout, stderr]) stream.destroy()
  }, DRAIN_MS)
  let open = 2
  for (const stream of [stdout, stderr]) {
    stream.once('close', () => {
      open -= 1
      if (open === 0) clearTimeout(timer)
    })
  }
}

/** Never throws: a group that is gone is what we want. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // ESRCH: nobody is left
  }
}

function watchTheEnd(): void {
  if (watching) return
  watching = true
  process.on('exit', () => {
    for (const pid of leaders) signalGroup(pid, 'SIGKILL')
  })
}

/** The command is the operator's own word; arguments and variables could hold secrets and are not told. */
function cannotStart({ command }: Program, cause: NodeJS.ErrnoException): Fault {
  const errno = cause.code ?? 'UNKNOWN'
  const state = errno === 'ENOENT' ? 'it, or the folder it is to run in, is not there' : `the system answered ${errno}`
  return new Fault('PROCESS_FAILED', {
    message: `Cannot start "${command.slice(0, 200)}": ${state}`,
    hint: 'Name a program that this user may run, by its path or by a name in PATH',
    facts: { errno },
    cause,
  })
}
