import { AppError } from '#shared/errors.ts'

/** The key of an Authorization header. Throws `authentication_required` without one. */
export function bearerOf(authorization: string | undefined): string {
  const key = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (key === undefined) throw new AppError('authentication_required')
  return key
}
