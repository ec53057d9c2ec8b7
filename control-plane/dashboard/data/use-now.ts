import { useEffect, useState } from 'react'

/** The present time, renewed now and again, for texts such as "3 min ago". */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

/** The beginning of the UTC day some days ago, so that a query stays the same for a day. */
export function daysAgo(days: number): number {
  const dayMs = 24 * 60 * 60 * 1_000
  return Math.floor(Date.now() / dayMs) * dayMs - days * dayMs
}
