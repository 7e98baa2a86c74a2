/**
 * One agent source, formatted where it lies. The file is replaced whole, under the mode it had, or stays byte for byte as it
 * was: also when it has an error, has another name, belongs to somebody else, or was changed meanwhile.
 */
import { basename } from 'node:path'
import { Fault } from '../../core/index.ts'
import { type Diagnostic, followsGrammar, format, parse, readSource, SOURCE_BYTES_MAX } from '../../dsl/index.ts'
import type { FileFacts, World } from '../../world/index.ts'
import { filesAt, isSourceName } from '../dsl/source-files.ts'
import { replaceTextFile } from '../text-files.ts'

export type Formatted = { readonly file: string; readonly status: 'clean' | 'formatted' | 'would_format' } | FormatError

export interface FormatError {
  readonly file: string
  readonly status: 'error'
  readonly message: string
  readonly hint: string | null
  /** What is wrong with the text, when that is it. */
  readonly diagnostics: readonly Diagnostic[]
  /** What the places of the diagnostics mean. */
  readonly text: string
}

/** The bytes as they should be, or what is wrong with them. */
export type FormattedText =
  | { readonly kind: 'text'; readonly text: string; readonly isClean: boolean }
  | { readonly kind: 'invalid'; readonly text: string; readonly diagnostics: readonly Diagnostic[] }

const BYTE_ORDER_MARK = '\ufeff'

/** The files that a path stands for, or why it cannot be said. */
export async function sourcesAt(world: World, path: string): Promise<readonly string[] | FormatError> {
  try {
    return await filesAt(world, [path])
  } catch (error) {
    return refusedBy(error, path)
  }
}

/** Writes nothing when it only checks. */
export async function formatFile(world: World, file: string, isCheck: boolean): Promise<Formatted> {
  try {
    return await formatOrRefuse(world, file, isCheck)
  } catch (error) {
    return refusedBy(error, file)
  }
}

/** A mark at the beginning says how the bytes are to be read and is no part of the text: it stays if it was there. */
export function formatBytes(bytes: Uint8Array): FormattedText {
  const { text, diagnostics } = readSource(bytes)
  if (diagnostics.length > 0) return { kind: 'invalid', text, diagnostics }
  const parsed = parse(text)
  if (!followsGrammar(parsed)) {
    return { kind: 'invalid', text, diagnostics: parsed.diagnostics.filter(({ kind }) => kind === 'syntax') }
  }
  const formatted = format(text)
  const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? BYTE_ORDER_MARK : ''
  return { kind: 'text', text: `${mark}${formatted}`, isClean: formatted === text }
}

async function formatOrRefuse(world: World, file: string, isCheck: boolean): Promise<Formatted> {
  const named = await world.files.lstat(file)
  if (named === null) return unusable(file, 'it does not exist')
  if (named.kind === 'link') return unusable(file, 'it is a link', 'Name the file that it leads to')
  if (named.kind !== 'file') return unusable(file, 'it is no regular file')
  if (!isSourceName(basename(file))) {
    return unusable(file, 'its name ends neither in .symbi nor in .dsl', 'Use --stdin for text from elsewhere')
  }
  await using opened = await world.files.open(file, 'read')
  if (opened === null) return unusable(file, 'it does not exist')
  const facts = await opened.facts()
  if (facts.size > SOURCE_BYTES_MAX) return unusable(file, `it is longer than ${SOURCE_BYTES_MAX} bytes`)
  const result = formatBytes(await opened.readAll(SOURCE_BYTES_MAX))
  if (result.kind === 'invalid') {
    const { text, diagnostics } = result
    return { ...unusable(file, 'it has errors', 'Mend them first; the file is as it was'), text, diagnostics }
  }
  if (result.isClean) return { file, status: 'clean' }
  if (isCheck) return { file, status: 'would_format' }
  const refusal = whyNotReplaced(facts, await world.files.lstat(file), world.files.uid)
  if (refusal !== null) return unusable(file, ...refusal)
  await replaceTextFile(world, file, result.text, facts.mode)
  return { file, status: 'formatted' }
}

/** A file that is replaced loses what ties it to others: further names, and its owner. */
function whyNotReplaced(
  { inode, links, ownerUid, changedNs }: FileFacts,
  now: FileFacts | null,
  uid: number,
): readonly [state: string, hint: string] | null {
  if (links > 1) return ['it has further names, which would keep the old text', 'Remove the hard links, or use --stdin']
  if (ownerUid !== uid) return ['it belongs to another user', 'Format it as its owner, or use --stdin']
  if (now === null || now.inode !== inode || now.changedNs !== changedNs) {
    return ['it was changed while it was read', 'Format it again']
  }
  return null
}

/** A failure of the disk is told of this file; what is our own is nobody's to catch. */
function refusedBy(error: unknown, file: string): FormatError {
  if (!(error instanceof Fault)) throw error
  return refused(file, `Cannot format "${file}": ${error.message}`, error.hint ?? null)
}

function unusable(file: string, state: string, hint: string | null = null): FormatError {
  return refused(file, `Cannot format "${file}": ${state}`, hint)
}

function refused(file: string, message: string, hint: string | null): FormatError {
  return { file, status: 'error', message, hint, diagnostics: [], text: '' }
}
