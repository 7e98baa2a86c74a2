import { expect, test } from 'vitest'
import { filled, fittedTable } from '../../src/cli/text-table.ts'

test('a fitted table goes on below its last cell, which keeps its words in one piece', () => {
  const rows = [
    ['NAME', 'REASON'],
    ['one', 'a reason of some words that does not fit'],
    ['other', ''],
  ]
  expect(fittedTable(rows, 31)).toEqual([
    'NAME   REASON',
    'one    a reason of some words',
    '       that does not fit',
    'other',
  ])
})

test('where too little is left beside the others, the last cell stands below its row', () => {
  expect(fittedTable([['a long first cell', 'some words of a reason']], 30)).toEqual([
    'a long first cell',
    '    some words of a reason',
  ])
})

test('a word that is longer than the line is not broken, and no control character gets through', () => {
  expect(filled('see /a/very/long/path now', 10)).toEqual(['see', '/a/very/long/path', 'now'])
  expect(fittedTable([['a', 'x\u001b[2Jy\nz']], 80)).toEqual(['a  xy z'])
})
