import { useState } from 'react'

/** True once the values of a form differ from those that the form began with. */
export function useIsChanged(values: unknown): boolean {
  const now = JSON.stringify(values)
  const [first] = useState(now)
  return now !== first
}
