/** The guides of `examples/`, followed by the letter in real terminals: what they say to type, and what they show. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildWhenStale } from '../../scripts/build.mjs'
import { temporaryFolder } from '../support/folder.ts'
import { Follower, stepsIn } from '../support/guide.ts'
import { type InTerminal, terminalOf, whyNoTerminal } from '../support/pseudo-terminal.ts'
import { pathsIn, ROOT } from '../support/sources.ts'

const GUIDES = pathsIn('examples').filter((path) => path.endsWith('.md'))

/** A folder that looks like the clone, so that what the guide makes in it is thrown away with it. */
async function likeTheClone() {
  const folder = await temporaryFolder()
  for (const name of ['bin', 'examples']) symlinkSync(join(ROOT, name), folder.of(name))
  mkdirSync(folder.of('path'))
  const npx = '#!/bin/sh\n[ "$1 $2" = "--no-install symbi" ] || exit 9\nshift 2\nexec node bin/symbi.js "$@"\n'
  writeFileSync(folder.of('path', 'npx'), npx, { mode: 0o755 })
  return folder
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function whyNoShell(): string | null {
  try {
    execFileSync('bash', ['--version'])
    return whyNoTerminal()
  } catch {
    return 'there is no program "bash"'
  }
}

const why = whyNoShell()

test('there is a guide', () => expect(GUIDES).toContain('examples/05-approval.md'))

test.skipIf(why !== null).each(GUIDES)(
  `%s can be followed as it stands${why === null ? '' : ` (skipped: ${why})`}`,
  { timeout: 90_000 },
  async (path) => {
    buildWhenStale(ROOT, { stdout: 2 })
    await using folder = await likeTheClone()
    const guide = readFileSync(join(ROOT, path), 'utf8').replaceAll('8090', String(await freePort()))
    const steps = stepsIn(guide)
    expect(new Set(steps.map(({ terminal }) => terminal))).toEqual(new Set(['one', 'two']))
    const env = {
      PATH: `${folder.of('path')}:${process.env.PATH}`,
      HOME: folder.path,
      TERM: 'dumb',
      PS1: '$ ',
      PS2: '',
    }
    const shell = (): InTerminal =>
      terminalOf('sh -c "stty cols 80 && exec bash --norc --noprofile --noediting -i"', { cwd: folder.path, env })
    await using one = shell()
    await using two = shell()
    const follower = new Follower()
    for (const step of steps) {
      const terminal = step.terminal === 'one' ? one : two
      const late = setTimeout(() => void terminal[Symbol.asyncDispose](), 20_000) // what never comes is told with the screen
      try {
        await follower.follow(step, terminal)
      } finally {
        clearTimeout(late)
      }
    }
    one.type('exit\n')
    expect(await one.ended).toBe(0)
    expect(existsSync(folder.of('.symbi-shop'))).toBe(false)
  },
)

/** A terminal that answers each typed line with what the test says. */
function playedTerminal(answers: readonly string[]): InTerminal & { readonly typed: string[] } {
  const typed: string[] = []
  let screen = '$ '
  return {
    typed,
    screen: () => screen,
    type: (text) => {
      screen += `${text}${answers[typed.length] ?? ''}$ `
      typed.push(text)
    },
    shown: async (wanted, from = 0) => {
      const match = wanted.exec(screen.slice(from))
      if (match === null) throw new Error(`not shown: ${wanted}`)
      return match
    },
    ended: Promise.resolve(0),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

const GUIDE = `**Terminal one.** Words.

\`\`\`console
$ make it
made 00000000000000aa in 12 ms, at 10:00:00Z
…
done
$ use 00000000000000aa
used 00000000000000aa  #1
\`\`\`
`

test('a guide is typed with the values of the terminal, and another answer than it shows is an error', async () => {
  const follow = async (...answers: readonly string[]): Promise<readonly string[]> => {
    const terminal = playedTerminal(answers)
    const follower = new Follower()
    for (const step of stepsIn(GUIDE)) await follower.follow(step, terminal)
    return terminal.typed
  }
  const made = 'made 123456789abcdef0 in 1.5 s, at 23:59:59Z\nmore\ndone\n'
  const both = ['make it\n', 'use 123456789abcdef0\n']
  expect(await follow(made, 'used 123456789abcdef0  #1\n')).toEqual(both)
  expect(await follow(made, 'used 123456789abcdef0 #2 +15 ms\n')).toEqual(both) // it took long enough to be told
  await expect(follow(made, 'used 123456789abcdef1  #1\n')).rejects.toThrow('not shown')
  await expect(follow(made.replace('done', 'undone'), 'used 123456789abcdef0  #1\n')).rejects.toThrow('not shown')
  await expect(follow(made.replace('made', 'made up'), 'used 123456789abcdef0  #1\n')).rejects.toThrow('not shown')
})
