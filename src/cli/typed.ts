/** Commands and paths as a person would type them, in the folder where this process was started. */
import { basename, dirname, relative, sep } from 'node:path'

/** A command of ours that works when it is pasted into a shell in the current folder. */
export function typed(...words: readonly string[]): string {
  return [program(), ...words.map(quoted)].join(' ')
}

/** The path relative to the current folder where it lies inside, else as it is. */
export function near(path: string): string {
  const inside = relative(process.cwd(), path)
  if (inside === '') return '.'
  return inside === '..' || inside.startsWith(`..${sep}`) ? path : inside
}

/** `npx` finds us in a clone's own folder and where we are installed; from elsewhere a clone is named by its path. */
function program(): string {
  const started = process.argv[1] ?? 'symbi'
  const isClone = basename(started) === 'symbi.js' && !started.includes(`${sep}node_modules${sep}`)
  if (!isClone || dirname(dirname(started)) === process.cwd()) return 'npx --no-install symbi'
  return `node ${quoted(near(started))}`
}

function quoted(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word)
    ? word
    : /["$`\\!]/.test(word)
      ? `'${word.replaceAll("'", "'\\''")}'`
      : `"${word}"`
}
