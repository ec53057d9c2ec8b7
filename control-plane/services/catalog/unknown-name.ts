import { closestName } from '#shared/closest-name.ts'
import { AppError } from '#shared/errors.ts'

/** A name in the input that matches no record, and the ids of all records. */
type UnknownName = {
  readonly noun: 'model' | 'provider'
  readonly name: string
  readonly ids: readonly string[]
  readonly param: string
}

/** The refusal of an unknown name, with the nearest id as a suggestion. */
export function unknownName({ noun, name, ids, param }: UnknownName): AppError {
  const suggestion = closestName(name, ids)
  const hint = suggestion === undefined ? '' : ` Did you mean ${suggestion}?`
  return new AppError('invalid_request', {
    message: `No ${noun} has the id ${name}.${hint}`,
    param,
    detail: { suggestion: suggestion ?? null },
  })
}
