import { TraitName } from '#shared/catalog/resources.ts'
import { AppError } from '#shared/errors.ts'

const HEADER = 'x-mkt-require'
const MAX_TRAITS = 32

/**
 * The traits that an account must claim, from `X-MKT-Require: group.name, group.name`. An empty header requires none.
 * Throws `invalid_request` and `trait_unavailable`.
 */
export function readTraits(header: string | readonly string[] | undefined): readonly string[] {
  if (header === undefined || (typeof header === 'string' && header.trim() === '')) return []
  const names = typeof header === 'string' ? header.split(',').map((name) => name.trim()) : []
  const isReadable = names.length > 0 && names.length <= MAX_TRAITS && names.every((name) => SPELLING.test(name))
  if (!isReadable) {
    const message = `X-MKT-Require lists up to ${MAX_TRAITS} traits of the form group.name.`
    throw new AppError('invalid_request', { message, param: HEADER })
  }
  // No account can have a trait whose name is malformed.
  const strange = names.find((name) => !TraitName.safeParse(name).success)
  if (strange !== undefined) throw new AppError('trait_unavailable', { detail: { required_traits: names } })
  return names
}

const SPELLING = /^[\w-]{1,80}\.[\w-]{1,80}$/
