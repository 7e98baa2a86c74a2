/** Checks of the project's settings and secrets: its layout, who may read what, the signing key, the policies, the model. */
import { join } from 'node:path'
import { listKeys } from '../../access/index.ts'
import { isFault } from '../../core/index.ts'
import { buildRegistry, readAgentFolder, shownName } from '../../delegation/index.ts'
import { readSigningKey } from '../../journal/index.ts'
import { checkPolicies, describeProblem } from '../../policy/index.ts'
import type { Project } from '../../runtime/index.ts'
import { hasPrivateDirectory, openPrivateFile } from '../../store/index.ts'
import { PIN_FILE } from '../../upstream/index.ts'
import type { World } from '../../world/index.ts'
import { chooseModel } from '../model.ts'
import { ENV_FILE, SETTINGS_FILE } from '../project/project-files.ts'
import { configOf, counted, type Finding, failed, ok, type Patient, projectOf, warning } from './doctor-rows.ts'

export async function checkLayout(patient: Patient): Promise<Finding> {
  const project = projectOf(patient)
  const wanted = {
    [SETTINGS_FILE]: join(project.root, SETTINGS_FILE),
    '.symbiont': project.stateFolder,
    policies: project.policyFolder,
  }
  const missing: string[] = []
  for (const [name, path] of Object.entries(wanted)) {
    if ((await patient.world.files.lstat(path)) === null) missing.push(name)
  }
  if (missing.length === 0) return ok('settings, state and policies are there')
  return failed(`missing: ${missing.join(', ')}`, 'Run "symbi init"; with --force it adds what is missing to a project')
}

/** Folders and files that this user alone may use. */
export async function checkModes(patient: Patient): Promise<Finding> {
  const { world } = patient
  const project = projectOf(patient)
  const keyFile = configOf(patient).apiKeysFile ?? project.keyFile
  const problems: string[] = []
  let seen = 0
  for (const [name, look] of privateThings(world, project)) {
    try {
      if (await look()) seen += 1
    } catch (error) {
      if (!isFault(error)) throw error
      problems.push(`${name}: ${error.message}`)
    }
  }
  let keys = 0
  try {
    keys = (await listKeys(keyFile, world)).filter(({ revoked }) => !revoked).length
  } catch (error) {
    if (!isFault(error)) throw error
    problems.push(`API keys: ${error.message}`)
  }
  if (problems.length > 0) {
    return failed(
      counted(problems.length, 'thing is not private', 'things are not private'),
      'Use "chmod 700" on folders and "chmod 600" on files, and find out who could have read them',
      problems,
    )
  }
  const found = `${counted(seen, 'folder or file', 'folders and files')} private, ${counted(keys, 'API key')} in force`
  return keys > 0 ? ok(found) : warning(found, 'Nobody can connect with a key; add one with "symbi keys add"')
}

function privateThings(world: World, project: Project): readonly (readonly [string, () => Promise<boolean>])[] {
  const folders = {
    '.symbiont': project.stateFolder,
    governed: project.governedFolder,
    invocations: join(project.stateFolder, 'invocations'),
    approvals: project.approvalFolder,
  }
  const files = {
    [PIN_FILE]: join(project.stateFolder, PIN_FILE),
    'chat.token': project.chatTokenFile,
    [ENV_FILE]: join(project.root, ENV_FILE),
  }
  return [
    ...Object.entries(folders).map(([name, path]) => [name, () => hasPrivateDirectory(world, path, 'folder')] as const),
    ...Object.entries(files).map(([name, path]) => [name, () => isPrivateFile(world, path)] as const),
  ]
}

async function isPrivateFile(world: World, path: string): Promise<boolean> {
  await using file = await openPrivateFile(world, path, 'read', { what: 'file', bytesMax: 32 * 1024 * 1024 })
  return file !== null
}

export async function checkSigningKey(patient: Patient): Promise<Finding> {
  const { world } = patient
  const { governedFolder } = projectOf(patient)
  const names = (await world.files.list(governedFolder)) ?? []
  const key = await readSigningKey(world, governedFolder)
  const leftovers = names.filter((name) => name.startsWith('.') && name.endsWith('.tmp'))
  if (key === null) {
    if (!names.some((name) => name.endsWith('.jsonl'))) return ok('none yet: the first run makes it')
    return failed('it is missing, and journals are signed with it', 'Restore it from its backup')
  }
  if (leftovers.length === 0) return ok(`usable, public key ${key.publicKey.hex}`)
  return warning(
    `usable, and ${counted(leftovers.length, 'temporary name is', 'temporary names are')} left over`,
    'While no process of the project runs, remove them: the key itself is complete',
    leftovers,
  )
}

export async function checkPolicyFiles(patient: Patient): Promise<Finding> {
  const { files, policies, problems } = await checkPolicies(patient.world, projectOf(patient).policyFolder)
  const items = problems.map((problem) => describeProblem(problem))
  const found = `${counted(policies, 'policy', 'policies')} in ${counted(files.length, 'file')}`
  if (problems.some(({ severity }) => severity === 'error')) {
    return failed(
      found,
      'A server that starts now denies everything; one that runs keeps the policies from before, until this is mended',
      items,
    )
  }
  return problems.length === 0 ? ok(found) : warning(found, 'Run "symbi policy check" for the places', items)
}

/** Every file of agents is parsed, as the start of a server would. */
export async function checkAgents(patient: Patient): Promise<Finding> {
  const folder = await readAgentFolder(patient.world, projectOf(patient).agentFolder)
  const { targets, unavailable, problem } = buildRegistry(folder)
  const { files } = folder
  if (files.length === 0) return ok('none: the project has no agents')
  const found = `${counted(targets.length, 'agent')} can be delegated to, in ${counted(files.length, 'file')}`
  if (unavailable.size === 0) return ok(found)
  const lost = counted(unavailable.size, 'name cannot be used', 'names cannot be used')
  const items = [...unavailable].slice(0, ITEMS_MAX).map(([name, reason]) => `${shownName(name)}: ${reason}`)
  const more = unavailable.size > ITEMS_MAX ? [`and ${unavailable.size - ITEMS_MAX} more`] : []
  const limit = problem === null ? [] : [problem.message]
  return warning(
    `${found}; ${lost}`,
    problem?.hint ?? 'Run "symbi dsl --check" on the files, and start the server again when they are mended',
    [...limit, ...items, ...more],
  )
}

/** A folder of thousands of files is not mended name by name. */
const ITEMS_MAX = 64

/** Whether a provider could be made from the settings. It is not asked anything. */
export async function checkModel(patient: Patient): Promise<Finding> {
  const { provider, isDemo } = await chooseModel(patient.world, projectOf(patient), configOf(patient))
  if (isDemo) return ok('demo-model.json, a script and no model: no provider is configured')
  return ok(`${provider.defaultModel} by ${provider.name}; whether it answers was not tried`)
}
