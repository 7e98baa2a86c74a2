/**
 * Making a project, so that a crash at any moment leaves something that `init` can finish. Each part appears whole or not at
 * all, and `symbiont.toml` comes last: while it is missing, there is no project yet, and `init` may be called again.
 *
 * Policies and agents belong to the operator. Their folders are made as a whole where there are none; one that exists is left
 * as it is, whatever it lacks, because to add a permission is to widen it. Keys and evidence are never touched either.
 */
import { dirname, join } from 'node:path'
import { addKey } from '../../access/index.ts'
import { Fault } from '../../core/index.ts'
import type { Project } from '../../runtime/index.ts'
import { ensurePrivateDirectory, type HeldLock, replacePrivateFile, tryLockFile } from '../../store/index.ts'
import type { World } from '../../world/index.ts'
import { SETTINGS_FILE } from '../project/project-files.ts'
import { createTextFile, readTextFile, replaceTextFile } from '../text-files.ts'
import { DEMO_MODEL_FILE } from './init-demo-model.ts'
import type { FolderTexts, Profile } from './init-profiles.ts'
import { IGNORED, SETTINGS_TEXT } from './init-texts.ts'

export interface Made {
  /** Relative to the project, in the order in which they were written. */
  readonly written: readonly string[]
  /** What was there and stays as it was. */
  readonly kept: readonly string[]
}

/** Throws `PROJECT_EXISTS` for a project, unless `force` says to write its settings and demo model again. */
export async function makeProject(
  world: World,
  project: Project,
  { profile, force }: { readonly profile: Profile; readonly force: boolean },
): Promise<Made> {
  const settings = join(project.root, SETTINGS_FILE)
  if (!force && (await world.files.lstat(settings)) !== null) throw exists()
  await ensurePrivateDirectory(world, project.stateFolder, 'state folder of the project')
  await using _lock = await lockInit(world, project)
  const written: string[] = []
  const kept: string[] = []
  const note = (name: string, isNew: boolean): void => void (isNew ? written : kept).push(name)
  note('policies/', await makeFolder(world, project.root, 'policies', profile.policies))
  note('agents/', await makeFolder(world, project.root, 'agents', profile.agents))
  note('.gitignore', await ignorePrivateFiles(world, project))
  note('.symbiont/api-keys.json', await makeChatKey(world, project))
  note(DEMO_MODEL_FILE, await put(world, join(project.root, DEMO_MODEL_FILE), profile.demoModel, force))
  const isNew = await put(world, settings, SETTINGS_TEXT, force)
  if (!isNew) throw exists() // somebody else wrote it meanwhile
  written.push(SETTINGS_FILE)
  return { written, kept }
}

async function put(world: World, path: string, text: string, force: boolean): Promise<boolean> {
  if (!force) return await createTextFile(world, path, text)
  await replaceTextFile(world, path, text)
  return true
}

async function lockInit(world: World, project: Project): Promise<HeldLock> {
  const lock = await tryLockFile(world, join(project.stateFolder, 'init.lock'), 'lock of symbi init')
  if (lock !== null) return lock
  throw new Fault('STORAGE_BUSY', {
    message: 'Cannot make the project: another "symbi init" is making it',
    hint: 'Wait until it has finished',
  })
}

/**
 * Written beside and renamed, unless the folder is there: half a folder would be taken for what the operator wants, and a
 * permission or an agent that was taken away must not come back.
 */
async function makeFolder(world: World, root: string, name: string, texts: FolderTexts): Promise<boolean> {
  const folder = join(root, name)
  if ((await world.files.lstat(folder)) !== null) return false
  const random = Buffer.from(world.random.bytes(8)).toString('hex')
  const temporary = join(root, `.${name}.${random}.tmp`)
  await world.files.mkdir(temporary, 0o755)
  for (const [path, text] of Object.entries(texts)) {
    await world.files.mkdir(dirname(join(temporary, path)), 0o755)
    await createTextFile(world, join(temporary, path), text)
  }
  await world.files.syncDirectory(temporary)
  await world.files.rename(temporary, folder)
  await world.files.syncDirectory(root)
  return true
}

const IGNORE_BYTES_MAX = 1024 * 1024

async function ignorePrivateFiles(world: World, { root }: Project): Promise<boolean> {
  const path = join(root, '.gitignore')
  const text = (await readTextFile(world, path, IGNORE_BYTES_MAX)) ?? ''
  const lines = new Set(text.split(/\r?\n/).map((line) => line.trim()))
  const missing = IGNORED.filter((entry) => !lines.has(entry) && !lines.has(entry.replace(/\/$/, '')))
  if (missing.length === 0) return false
  const mode = (await world.files.lstat(path))?.mode
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  await replaceTextFile(world, path, `${text}${gap}${missing.join('\n')}\n`, mode)
  return true
}

export const CHAT_KEY = 'chat'

/**
 * The first key, and its token in a file of its own. The key file is what counts: it takes its name only after the token is
 * safe, so a crash between the two leaves a token without a key, which the next call replaces.
 */
async function makeChatKey(world: World, project: Project): Promise<boolean> {
  if ((await world.files.lstat(project.keyFile)) !== null) return false
  const random = Buffer.from(world.random.bytes(8)).toString('hex')
  const temporary = join(project.stateFolder, `.api-keys.${random}.tmp`)
  const description = 'made by symbi init, for symbi chat on this machine'
  const key = { keyId: CHAT_KEY, agents: null, description }
  try {
    const { token } = await addKey(temporary, key, world, new AbortController().signal)
    await replacePrivateFile(world, project.stateFolder, 'chat.token', Buffer.from(`${token}\n`))
    return await world.files.link(temporary, project.keyFile)
  } finally {
    for (const name of [temporary, `${temporary}.lock`]) await world.files.unlink(name).catch(() => undefined)
    await world.files.syncDirectory(project.stateFolder)
  }
}

function exists(): Fault {
  return new Fault('PROJECT_EXISTS', {
    message: `Cannot make a project: the folder holds a "${SETTINGS_FILE}"`,
    hint: 'Choose another folder, or give --force to write the settings and the demo model again',
  })
}
