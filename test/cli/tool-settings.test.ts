import { mkdir, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/cli/settings/config.ts'
import { readyMadeOf } from '../../src/cli/settings/tool-settings.ts'
import { readyMadeTools } from '../../src/runtime/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { temporaryFolder } from '../support/folder.ts'

const world = nodeWorld()

async function configured(toml: string, env: Readonly<Record<string, string>> = {}, dotenv?: string) {
  await using folder = await temporaryFolder()
  await mkdir(folder.of('docs'))
  await writeFile(folder.of('symbiont.toml'), toml)
  if (dotenv !== undefined) await writeFile(folder.of('.env'), dotenv, { mode: 0o600 })
  const { config } = await readConfig(world, { root: folder.path, flags: {}, env })
  const given = readyMadeOf(config, config.headerVariables)
  const tools = await readyMadeTools(given, world)
  return { folder: folder.path, config, given, names: tools.map(({ definition }) => definition.name), tools }
}

test('without a word there is no ready-made tool', async () => {
  expect((await configured('')).names).toEqual([])
})

test('roots are read as paths of the project, and each kind of setting brings its tools', async () => {
  const roots = await configured('[tools.file_roots]\ndocs = "docs"\nmore = { path = "docs", hidden = true }\n')
  expect(roots.config.fileRoots).toEqual([
    { name: 'docs', path: `${roots.folder}/docs`, hidden: false },
    { name: 'more', path: `${roots.folder}/docs`, hidden: true },
  ])
  expect(roots.names).toEqual(['read_file', 'list_files', 'search_files'])
  const origins = await configured(
    '[tools]\nhttp_origins = ["https://a.example.org", { origin = "https://b.example.org", methods = ["POST"] }]\n',
  )
  expect(origins.names).toEqual(['http_request'])
  expect(origins.tools[0]?.definition.parameters).toMatchObject({
    properties: { method: { enum: ['GET', 'HEAD', 'POST'] } },
  })
})

test('a header comes from a variable of the environment or of .env, and from no other place', async () => {
  const toml =
    '[tools]\nhttp_origins = [{ origin = "https://a.example.org", headers_env = { Authorization = "SYMBI_HTTP_A" } }]\n'
  const headers = { Authorization: 'Bearer of-the-environment' }
  const { given } = await configured(toml, { SYMBI_HTTP_A: headers.Authorization })
  expect(given.httpOrigins).toEqual([{ origin: 'https://a.example.org', private: false, headers }])
  const own = await configured(toml, {}, 'SYMBI_HTTP_A=of-the-file\n')
  expect(own.given.httpOrigins).toMatchObject([{ headers: { Authorization: 'of-the-file' } }])
  await expect(configured(toml)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('"SYMBI_HTTP_A" is not set'),
  })
})

describe('what cannot be used is refused by its name', () => {
  test.each([
    ['file_roots = ["docs"]', '"tools.file_roots" must be a table'],
    ['file_roots = { docs = 1 }', '"tools.file_roots" must be'],
    ['file_roots = { docs = { path = "docs", follow = true } }', '"tools.file_roots" must be a table'],
    ['file_roots = { docs = { path = "docs", hidden = "yes" } }', '"tools.file_roots" must be a table'],
    ['file_roots = { docs = 2026-01-01 }', '"tools.file_roots" must be'],
    ['file_roots = { docs = "none" }', 'its folder does not exist'],
    ['file_roots = { docs = "symbiont.toml" }', 'its folder does not exist'],
    ['file_roots = { "a/b" = "docs" }', 'its name must be'],
    ['http_origins = "https://a.example.org"', '"tools.http_origins" must be a list'],
    ['http_origins = [1]', '"tools.http_origins" must be a list'],
    ['http_origins = [{ origin = "https://a.example.org", redirects = true }]', '"tools.http_origins" must be a list'],
    ['http_origins = [{ origin = "https://a.example.org", methods = "GET" }]', '"tools.http_origins" must be a list'],
    ['http_origins = [{ origin = "https://a.example.org", headers_env = { A = "ANTHROPIC_API_KEY" } }]', 'SYMBI_HTTP_'],
    ['http_origins = [{ origin = "https://a.example.org", methods = ["BREW"] }]', 'its methods must be some of'],
    ['http_origins = ["https://a.example.org/path"]', 'it is not scheme, host and port'],
    ['shell = true', '"tools.shell" is not a known member'],
  ])('%s', async (line, words) => {
    await expect(configured(`[tools]\n${line}\n`, { ANTHROPIC_API_KEY: 'key' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(words),
    })
  })
})
