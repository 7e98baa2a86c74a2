import { readdirSync, readFileSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { checkPolicies, checkPolicyText, describeProblem } from '../../../src/policy/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { PolicyFolder } from '../support.ts'

const world = nodeWorld()
const problemsOf = (text: string) => checkPolicyText(text).problems

const ROOT = new URL('../../../', import.meta.url)
const PAGES = readdirSync(new URL('docs/', ROOT)).filter((name) => name.endsWith('.md'))

test('the policies that the documents show can be copied as they are: nothing is said about them', () => {
  const shown = PAGES.flatMap((page) => {
    const text = readFileSync(new URL(`docs/${page}`, ROOT), 'utf8')
    const blocks = [...text.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, block = '']) => block)
    return blocks.filter((block) => /^(permit|forbid) ?\(/m.test(block)).map((block) => ({ page, block }))
  })
  expect(shown.length).toBeGreaterThanOrEqual(5)
  for (const { page, block } of shown) expect([page, problemsOf(block)]).toEqual([page, []])
})

describe('errors', () => {
  test('an error is shown with file, line, column, source line and hint, counted in characters', () => {
    const text =
      '// größer 😀\npermit(principal, action, resource) when { "ü😀" == context.invocation.fingerprint };\n  allow(principal, action, resource);'
    expect(problemsOf(text)).toEqual([
      {
        severity: 'error',
        file: 'policy.cedar',
        line: 3,
        column: 3,
        message: 'invalid policy effect: allow',
        hint: 'effect must be either `permit` or `forbid`',
        source: '  allow(principal, action, resource);',
      },
    ])
    expect(describeProblem(problemsOf(text)[0]!)).toBe('policy.cedar:3:3: invalid policy effect: allow')
  })

  test('text before the error in the same line may be any text', () => {
    const [problem] = problemsOf('permit(principal, action, resource) when { "ü😀" = context.a };')
    expect(problem).toMatchObject({ line: 1, column: 44, hint: "try using '==' instead" })
  })

  test('every error of a text is listed', () => {
    const text =
      'allow(principal, action, resource);\nforbid(principal, acton, resource);\npermit(principal, action, resource) when { foo(1) };'
    expect(problemsOf(text).map(({ line, column }) => [line, column])).toEqual([
      [1, 1],
      [2, 19],
      [3, 44],
    ]) // prettier-ignore
  })

  test('a template is refused where its slot stands', () => {
    expect(problemsOf('permit(principal,\n  action, resource == ?resource);')).toMatchObject([
      { line: 2, column: 23, message: expect.stringContaining('template') },
    ])
  })

  test('text that would kill the engine is refused before it is parsed', () => {
    expect(problemsOf(`permit(principal, action, resource) when {\n${'('.repeat(500)}`)).toMatchObject([
      { line: 2, column: 32, message: 'more than 32 brackets are nested' },
    ])
  })
})

describe('warnings about reading what may not be there', () => {
  const reads = (text: string) =>
    problemsOf(text).map(({ message }) => /^"(?<path>.*)" is read/.exec(message)?.groups?.path ?? message)

  test('an unscoped forbid over an argument is the classic: it denies replies too [trap:cedar-access-without-has]', () => {
    const text = 'forbid(principal, action, resource)\nwhen { context.invocation.arguments.path like "/etc/*" };'
    expect(problemsOf(text)).toEqual([
      {
        severity: 'warning',
        file: 'policy.cedar',
        line: 2,
        column: 8,
        message:
          '"context.invocation.arguments.path" is read without asking whether it is there: this forbid fails, and so denies, for every call without it, replies included',
        hint: 'Ask first: context.invocation has arguments.path && …',
        source: 'when { context.invocation.arguments.path like "/etc/*" };',
      },
    ])
  })

  const tool = 'permit(principal, action == Action::"tool_call::x", resource) when'
  test.each<[string, string[]]>([
    // guarded
    [`${tool} { context.invocation.arguments has path && context.invocation.arguments.path == "a" };`, []],
    [
      'permit(principal, action, resource) when { context has invocation.arguments.path && context.invocation.arguments.path == "a" };',
      [],
    ],
    [`${tool} { !(context has user) || context.user.name == "a" };`, ['context.user.name']],
    [`${tool} { !(context has user.name) || context.user.name == "a" };`, []],
    [`${tool} { if context has a then context.a else true };`, []],
    [`${tool} { context has a } when { context.a };`, []],
    [`${tool} { context.has_human_approval } unless { !(context has a) } when { context.a };`, []],
    [`${tool} { (context has a || context has a && context has b) && context.a };`, []],
    [`${tool} { context has a && (context.a || context.a) };`, []],
    [`${tool} { context has "a b" && context["a b"] };`, []],
    [
      `${tool} { context.invocation.contract.requires_approval && context.invocation.fingerprint == resource.call_fingerprint };`,
      [],
    ],
    [
      'permit(principal, action == Action::"respond", resource) when { context.invocation.action.Respond.content like "ok*" };',
      [],
    ],
    // not guarded
    [`${tool} { context.a };`, ['context.a']],
    [`${tool} { {a: 1} has a && context.a == 1 };`, ['context.a']],
    [`${tool} { !(context.b == 1) || context.a == 1 };`, ['context.b', 'context.a']],
    [`${tool} { (if context has a then true else false) && context.a == 1 };`, ['context.a']],
    [`${tool} { {a: 1}.a == 1 && "x" like "*" };`, []],
    [`${tool} { principal == resource || context == {} };`, []],
    [`${tool} { context has a && context.b };`, ['context.b']],
    [`${tool} { context has a || context.a };`, ['context.a']],
    [`${tool} { if context has a then true else context.a };`, ['context.a']],
    [`${tool} { (context has a || context has b) && context.a };`, ['context.a']],
    [`${tool} { context.a } when { context has a };`, ['context.a']],
    [
      `${tool} { [context.a].contains(1) && {b: context.b}.b == decimal(context.c) };`,
      ['context.a', 'context.b', 'context.c'],
    ],
    [`${tool} { context["a b"].c == 1 };`, ['context["a b"].c']],
    [`${tool} { context.invocation.resolved.argv.contains("rm") };`, ['context.invocation.resolved.argv']],
    [
      'permit(principal, action, resource) when { context.invocation.arguments has path };',
      ['context.invocation.arguments'],
    ],
    ['permit(principal, action, resource) when { resource.tool_name == "x" };', ['resource.tool_name']],
    [`${tool} { resource.tool_name == "x" };`, []],
    [
      'permit(principal, action in [Action::"tool_call::x", Action::"delegate::y"], resource) when { resource.tool_name == "x" };',
      ['resource.tool_name'],
    ],
    ['permit(principal, action == Net::Action::"query", resource) when { resource.tool_name == "x" };', []],
    [`${tool} { principal.role == "admin" };`, ['principal.role']],
  ])('%s', (text, expected) => {
    expect(reads(text)).toEqual(expected)
  })

  test('a warning stands at its own occurrence, not at a guarded one before it', () => {
    const text = `${tool} {\n context has a && context.a ||\n context.a };`
    expect(problemsOf(text)).toMatchObject([{ line: 3, column: 2 }])
  })
})

describe('a folder', () => {
  test('is checked with all its surfaces, each file once', async () => {
    await using folder = await PolicyFolder.make({
      'shared.cedar': 'permit(principal, action, resource) when { context.a };',
      'run/run.cedar': 'forbid(principal, action == Action::"tool_call::x", resource);',
      'coordinator/bad.cedar': '\nallow(principal, action, resource);',
      'notes/readme.txt': 'no policy',
    })
    const { files, policies, problems } = await checkPolicies(world, folder.path)
    expect(files).toEqual(['coordinator/bad.cedar', 'run/run.cedar', 'shared.cedar'])
    expect(policies).toBe(2)
    expect(problems.map(({ severity, file, line }) => [severity, file, line])).toEqual([
      ['error', 'coordinator/bad.cedar', 2],
      ['warning', 'shared.cedar', 1],
    ])
  })

  test('names the entry of a JSON file, a file without policies, and a name that is used twice', async () => {
    const entries = [{ name: 'x', source: 'permit(principal, action', active: true }]
    await using folder = await PolicyFolder.make({
      'bundle.cedar': JSON.stringify(entries),
      'empty.cedar': '// nothing\n',
      'a.cedar': '@id("b") permit(principal, action, resource);',
      'b.cedar': 'permit(principal, action, resource);',
    })
    const { problems } = await checkPolicies(world, folder.path)
    expect(problems.map(({ severity, file, message }) => [severity, file, message])).toEqual([
      ['error', 'b.cedar', 'the policy name "b" is used twice'],
      ['error', 'bundle.cedar#x', expect.stringContaining('unexpected end of input')],
      ['warning', 'empty.cedar', 'there is no policy in it'],
    ])
  })

  test('that is a file is an error, and has no surfaces', async () => {
    await using folder = await PolicyFolder.make({ 'a.cedar': 'permit(principal, action, resource);' })
    const { files, problems } = await checkPolicies(world, folder.at('a.cedar'))
    expect([files, problems.map(({ severity, file }) => [severity, file])]).toEqual([[], [['error', null]]])
  })

  test('with several problems lists those of no file first, then file by file and line by line', async () => {
    await using folder = await PolicyFolder.make({
      'b.cedar':
        'allow(principal, action, resource); permit(principal, acton, resource);\n\nforbid(principal, action, resorce);',
      'a.cedar': '// nothing\n',
    })
    await symlink('/nonexistent', folder.at('run'))
    await folder.write('x/dangling.cedar', '[]')
    const { problems } = await checkPolicies(world, folder.path)
    expect(problems.map(({ file, line, column }) => [file, line, column])).toEqual([
      [null, 1, 1],
      ['a.cedar', 1, 1],
      ['b.cedar', 1, 1],
      ['b.cedar', 1, 55],
      ['b.cedar', 3, 27],
    ])
  })

  test('that is missing warns, and one that cannot be read is an error', async () => {
    await using folder = await PolicyFolder.make()
    expect((await checkPolicies(world, folder.at('missing'))).problems).toMatchObject([{ severity: 'warning' }])
    await symlink('/nonexistent', folder.at('dangling.cedar'))
    expect((await checkPolicies(world, folder.path)).problems).toMatchObject([
      { severity: 'error', message: expect.stringContaining('"dangling.cedar" is a link that leads nowhere') },
    ])
  })
})
