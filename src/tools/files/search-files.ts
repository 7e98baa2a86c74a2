/** `search_files`: lines that hold a text, in a file or in all files below a folder. The text is searched as it stands. */
import { cutText, isFault } from '../../core/index.ts'
import type { ToolDefinition } from '../../events/index.ts'
import type { Place, World } from '../../world/index.ts'
import type { Tool } from '../tool.ts'
import { nameMatches } from './name-pattern.ts'
import { ANSWER_BYTES_MAX, kept, openToRead, whyNotEntered, whyNotRead } from './reach.ts'
import { type Reached, reachingTool } from './reaching-tool.ts'
import type { Roots } from './roots.ts'
import { DEPTH_MAX, visitBelow, walkIn } from './tree.ts'
import { textOf } from './utf8.ts'

/** A file that repeats almost all of the text makes a search slow, and the more so the longer the text is. */
const TEXT_LENGTH_MAX = 256
const FILE_BYTES_MAX = 1024 * 1024
const TOTAL_BYTES_MAX = 8 * 1024 * 1024
const MATCHES_MAX = 200
const EXCERPT_MAX = 200

export function searchFilesTool(roots: Roots, world: Pick<World, 'files'>): Tool {
  const definition: ToolDefinition = {
    name: 'search_files',
    description: `Finds the lines that hold a text, in a file or below a folder. Roots: ${[...roots.keys()].join(', ')}.`,
    parameters: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, maxLength: 1024, description: 'root, root/folder or root/folder/file' },
        text: {
          type: 'string',
          minLength: 1,
          maxLength: TEXT_LENGTH_MAX,
          pattern: '^[^\\n\\r]*$',
          description: 'Searched as it stands',
        },
        ignore_case: { type: 'boolean', description: 'Whether A is a; false by default' },
        name: {
          type: 'string',
          minLength: 1,
          maxLength: 128,
          description: 'Only these names: * is any text, ? one character',
        },
      },
      required: ['path', 'text'],
      additionalProperties: false,
    },
  }
  return reachingTool({ definition, usual: { ignore_case: false }, roots, world }, searched)
}

async function searched({ args, location, path, place, home, signal }: Reached): Promise<object> {
  const walk = walkIn(location.root, home, DEPTH_MAX, signal)
  const search = new Search(String(args.text), args.ignore_case === true, home)
  if (place.facts.kind === 'directory') {
    const why = whyNotEntered(place, home)
    if (why !== null) throw kept(path, `it is ${why}`)
    await visitBelow(walk, place, path, async (found) => {
      if (typeof args.name === 'string' && !nameMatches(args.name, found.name)) return true
      return found.place.facts.kind === 'directory' || (await search.look(found.place, found.path))
    })
  } else {
    const why = whyNotRead(place, home)
    if (why !== null) throw kept(path, `it is ${why}`)
    await search.look(place, path)
  }
  const cuts = [...walk.cuts, ...search.cuts]
  const { matches, files, passedOver } = search
  return {
    path,
    matches,
    cut: cuts.length > 0,
    ...(cuts.length > 0 ? { cuts } : {}),
    files_searched: files,
    files_passed_over: passedOver,
    not_entered: walk.closed,
  }
}

class Search {
  readonly matches: object[] = []
  readonly cuts = new Set<string>()
  /** Links and special files, files with a second name, without text, too large, or that may not be read. */
  passedOver = 0
  files = 0
  #bytesRead = 0
  #answerBytes = 0
  readonly #home: Place
  readonly #needle: string
  readonly #fold: (text: string) => string

  constructor(text: string, ignoreCase: boolean, home: Place) {
    this.#home = home
    this.#fold = ignoreCase ? (line) => line.toLowerCase() : (line) => line
    this.#needle = this.#fold(text)
  }

  /** False when nothing more is to be looked at. */
  async look(place: Place, path: string): Promise<boolean> {
    if (whyNotRead(place, this.#home) !== null || place.facts.size > FILE_BYTES_MAX) return this.#pass()
    const bytes = await contentOf(place, this.#home, path)
    if (bytes === null) return this.#pass()
    this.#bytesRead += bytes.length
    const text = textOf(bytes)
    if (text === null) return this.#pass()
    this.files += 1
    if (!this.#lines(text, path)) return false
    if (this.#bytesRead < TOTAL_BYTES_MAX) return true
    this.cuts.add(`more than ${TOTAL_BYTES_MAX} bytes`)
    return false
  }

  #pass(): true {
    this.passedOver += 1
    return true
  }

  #lines(text: string, path: string): boolean {
    if (!this.#fold(text).includes(this.#needle)) return true // most files, without a list of their lines
    for (const [index, line] of text.split('\n').entries()) {
      const at = this.#fold(line).indexOf(this.#needle)
      if (at < 0) continue
      const match = { path, line: index + 1, text: excerpt(line, at) }
      this.#answerBytes += Buffer.byteLength(JSON.stringify(match))
      if (this.matches.length >= MATCHES_MAX || this.#answerBytes > ANSWER_BYTES_MAX) {
        this.cuts.add('there are more lines than an answer may hold')
        return false
      }
      this.matches.push(match)
    }
    return true
  }
}

/** Null for a file that cannot be had: it is one of many. */
async function contentOf(place: Place, home: Place, path: string): Promise<Uint8Array | null> {
  try {
    await using file = await openToRead(place, home, path)
    return await file.readAll(FILE_BYTES_MAX)
  } catch (error) {
    if (isFault(error, 'FILE_REFUSED', 'FILE_TOO_LARGE')) return null
    throw error
  }
}

function excerpt(line: string, at: number): string {
  const begin = Math.max(0, at - EXCERPT_MAX / 4)
  const text = cutText(line.slice(begin).replace(/\r$/, ''), EXCERPT_MAX)
  return begin === 0 ? text : `…${text.toWellFormed()}`
}
