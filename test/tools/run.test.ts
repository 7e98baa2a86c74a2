import { describe, expect, test } from 'vitest'
import type { Grant, PreparedCall } from '../../src/calls/index.ts'
import { type Tool, toolbox } from '../../src/tools/index.ts'
import { run } from '../../src/tools/run.ts'
import { grantOf, prepared, scopeOf, tool, world } from './support.ts'

const { signal } = new AbortController()

function counting(name: string): { readonly tool: Tool; readonly ran: string[] } {
  const ran: string[] = []
  return {
    ran,
    tool: tool(name, async () => {
      ran.push(name)
      return 'done'
    }),
  }
}

describe('run()', () => {
  test('a grant that is executed by another toolbox instance is refused without an effect, and stays unspent [P2]', async () => {
    const { tool: read, ran } = counting('read')
    const box = toolbox({ tools: [read] }, world)
    const twin = toolbox({ tools: [read] }, world)
    const grant = grantOf(prepared(box, 'read'), box)
    await expect(run([grant], twin, scopeOf(), signal)).rejects.toMatchObject({ code: 'GRANT_REFUSED' })
    expect(ran).toEqual([])
    await run([grant], box, scopeOf(), signal)
    expect(ran).toEqual(['read'])
  })

  test('one foreign grant in a batch refuses the batch before any grant is spent [P2]', async () => {
    const { tool: read, ran } = counting('read')
    const box = toolbox({ tools: [read] }, world)
    const twin = toolbox({ tools: [read] }, world)
    const own = grantOf(prepared(box, 'read', '{}', 'a'), box)
    const foreign = grantOf(prepared(twin, 'read', '{}', 'b'), twin)
    await expect(run([own, foreign], box, scopeOf(), signal)).rejects.toMatchObject({ code: 'GRANT_REFUSED' })
    expect(ran).toEqual([])
    expect(await run([own], box, scopeOf(), signal)).toHaveLength(1)
  })

  test('a grant is executed once: the second use breaks a promise and has no effect [P2]', async () => {
    const { tool: read, ran } = counting('read')
    const box = toolbox({ tools: [read] }, world)
    const grant = grantOf(prepared(box, 'read'), box)
    await run([grant], box, scopeOf(), signal)
    await expect(run([grant], box, scopeOf(), signal)).rejects.toThrow('a grant is spent once')
    await expect(run([{ ...grant } as Grant], box, scopeOf(), signal)).rejects.toThrow('a grant is spent once')
    expect(ran).toEqual(['read'])
  })

  test('a terminal grant, which belongs to no toolbox, is refused', async () => {
    const box = toolbox({ tools: [] }, world)
    const call = box.prepare({ Respond: { content: 'hello' } }, [])
    const grant = { ...grantOf(call, box), toolbox: null } as Grant
    await expect(run([grant], box, scopeOf(), signal)).rejects.toMatchObject({ code: 'GRANT_REFUSED' })
  })

  test('what never met the gate does not compile, and does not run either', async () => {
    const { tool: read, ran } = counting('read')
    const box = toolbox({ tools: [read] }, world)
    const call: PreparedCall = prepared(box, 'read')
    // @ts-expect-error a prepared call is not a grant
    await expect(run([call], box, scopeOf(), signal)).rejects.toThrow()
    // @ts-expect-error an object that looks like a grant is not one
    await expect(run([{ call, toolbox: box }], box, scopeOf(), signal)).rejects.toThrow('a grant is spent once')
    // @ts-expect-error a bare call is not authorised
    await expect(box.execute([{ call }], scopeOf(), signal)).rejects.toThrow('when its grant was spent')
    expect(ran).toEqual([])
  })
})
