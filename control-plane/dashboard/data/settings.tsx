import type { ReactNode } from 'react'
import { createContext, useCallback, useContext, useMemo, useState } from 'react'
import type { Zone } from './format.ts'

export type ThemeChoice = 'system' | 'light' | 'dark'

type Settings = {
  readonly theme: ThemeChoice
  readonly zone: Zone
  setTheme(theme: ThemeChoice): void
  setZone(zone: Zone): void
}

const SettingsContext = createContext<Settings | undefined>(undefined)
const YEAR_SECONDS = 365 * 24 * 60 * 60

/** Settings live in cookies: the server renders the theme, so nothing flashes. */
function remember(name: string, value: string): void {
  // biome-ignore lint/suspicious/noDocumentCookie: Cookie Store is not in every browser.
  document.cookie = `${name}=${value}; Path=/; SameSite=Lax; Max-Age=${value === '' ? 0 : YEAR_SECONDS}`
}

function remembered(name: string): string | undefined {
  const pairs = document.cookie.split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([key]) => key === name)?.[1]
}

export function SettingsProvider({ children }: { readonly children: ReactNode }) {
  const [theme, changeTheme] = useState<ThemeChoice>(() => {
    const storedTheme = remembered('mkt_theme')
    return storedTheme === 'light' || storedTheme === 'dark' ? storedTheme : 'system'
  })
  const [zone, changeZone] = useState<Zone>(() => (remembered('mkt_zone') === 'local' ? 'local' : 'utc'))
  const setTheme = useCallback((next: ThemeChoice) => {
    remember('mkt_theme', next === 'system' ? '' : next)
    if (next === 'system') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = next
    changeTheme(next)
  }, [])
  const setZone = useCallback((next: Zone) => {
    remember('mkt_zone', next)
    changeZone(next)
  }, [])
  const settings = useMemo(() => ({ theme, zone, setTheme, setZone }), [theme, zone, setTheme, setZone])
  return <SettingsContext value={settings}>{children}</SettingsContext>
}

export function useSettings(): Settings {
  const settings = useContext(SettingsContext)
  if (settings === undefined) throw new Error('outside of the settings')
  return settings
}
