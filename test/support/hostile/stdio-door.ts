/** A hostile client of `symbi mcp`: frames in waves, and an account of every answer. */
import { expect } from 'vitest'
import { type Running, start } from '../cli.ts'
import { type Message, RawClient } from '../mcp-client.ts'
import type { Ledger } from './ledger.ts'
import type { HostileFrame } from './parts.ts'

const LINE_FEED = Buffer.from('\n')

export interface StdioDoor extends AsyncDisposable {
  readonly raw: RawClient
  readonly running: Running
  /** Sends the frames at once, and resolves when everything that they are owed was said. */
  wave(frames: readonly HostileFrame[]): Promise<void>
}

/** `args` are those of `symbi mcp`. */
export function stdioDoor(args: readonly string[], ledger: Ledger): StdioDoor {
  const running = start(['mcp', ...args])
  const raw = new RawClient((bytes) => void running.child.stdin.write(bytes))
  running.child.stdout.on('data', (chunk: string) => raw.heard(chunk))
  void running.ended.then(() => raw.gone())
  let waves = 0
  return {
    raw,
    running,
    wave: async (frames) => {
      waves += 1
      const before = raw.messages.length
      const barrier = `end of wave ${waves}`
      for (const frame of frames) ledger.sent(frame)
      raw.send(Buffer.concat(frames.flatMap(({ bytes }) => [bytes, LINE_FEED])))
      raw.call(barrier, 'system_health') // calls are made in their order, so whatever came before it is answered before it
      await raw.answer(barrier)
      const said = raw.messages.slice(before)
      for (const message of said) ledger.heard(message)
      checkAnswers(
        frames,
        said.filter(({ id, method }) => method === undefined && id !== barrier),
      )
    },
    [Symbol.asyncDispose]: async () => {
      running.child.kill('SIGKILL')
      await running.ended
    },
  }
}

/** One answer for each frame that is owed one, under its own id; and no other. */
export function checkAnswers(frames: readonly HostileFrame[], said: readonly Message[]): void {
  const own = frames.flatMap(({ answer }) => (answer.kind === 'Answer' ? [answer.id] : []))
  const errors = frames.filter(({ answer }) => answer.kind === 'Error').length
  expect(said).toHaveLength(own.length + errors)
  const left = said.map(({ id }) => id)
  for (const id of own) {
    const at = left.indexOf(id)
    expect(at, `an answer to ${JSON.stringify(id)}`).toBeGreaterThan(-1)
    left.splice(at, 1)
  }
}
