import { dollars } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { argument, isSet, numberOption } from '#control-plane/cli/read-options.ts'
import { toSnakeBody } from '#shared/field-names.ts'

/** The largest amount that the API reads, in US dollars. */
const MAX_USD = 99_999_999

export const listBudgets: Action = async ({ connection }, given) => {
  const organization = argument(given)
  const budgets = await connection.as('operator', (client) => client.budget.list.query({ organization }))
  const rows = table(
    [...budgets.members, ...budgets.workspaces],
    [
      { title: 'MEMBER OR WORKSPACE', value: ({ of }) => of },
      { title: 'SPENT', alignsRight: true, value: ({ spentUsdc }) => dollars(spentUsdc) },
      { title: 'BUDGET', alignsRight: true, value: ({ limitUsdc }) => dollars(limitUsdc) ?? 'none' },
    ],
  )
  return { json: toSnakeBody(budgets), blocks: [facts({ month: budgets.month }), rows] }
}

export const setBudget: Action = async ({ connection }, given) => {
  const [organization, of] = [argument(given), argument(given, 1)]
  const usd = numberOption(given.options, 'usd', { min: 0, max: MAX_USD })
  if ((usd === undefined) !== isSet(given.options, 'none')) throw usageError('Give --usd or --none.')
  const input = { organization, limitUsd: usd ?? null }
  const budget = await connection.as('operator', (client) =>
    of.startsWith('wsp_')
      ? client.budget.setWorkspace.mutate({ ...input, workspace: of })
      : client.budget.setMember.mutate({ ...input, member: of }),
  )
  const limit = dollars(budget.limitUsdc) ?? 'none'
  return { json: toSnakeBody(budget), blocks: [text(`${of}: budget ${limit}, spent ${dollars(budget.spentUsdc)}`)] }
}
