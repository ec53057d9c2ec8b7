import { useNavigate } from '@tanstack/react-router'
import type { KeyboardEvent } from 'react'
import { useEffect, useId, useRef, useState } from 'react'
import { PagePaletteDocument } from './data/documents/viewer.ts'
import type { PageSide } from './data/session.tsx'
import { isOfSide, useViewer } from './data/session.tsx'
import { useScreen } from './data/use-query.ts'
import { NAVIGATION, TITLES } from './navigation.ts'
import type { DialogState } from './ui/dialog.tsx'
import { Dialog, useDialog } from './ui/dialog.tsx'

type Command = { readonly label: string; readonly about: string; readonly to: string; readonly isPlain?: boolean }

const LEADER_MS = 1_200
const MAX_SHOWN = 12
const SIDES: readonly PageSide[] = ['buyer', 'seller', 'operator']

/** Search over screens and models, and the keys that open them. */
export function CommandPalette({ dialog }: { readonly dialog: DialogState }) {
  const screens = useScreens()
  const go = useGo()
  const help = useDialog()
  useKeys({ screens, go, onSearch: dialog.open, onHelp: help.open })
  return (
    <>
      <Dialog dialog={dialog} title="Go to">
        <Finder
          screens={screens}
          onChoose={(command) => {
            dialog.close()
            go(command)
          }}
        />
      </Dialog>
      <Dialog dialog={help} title="Keys">
        <dl className="facts">
          {KEYS.map(([key, text]) => (
            <div key={key} style={{ display: 'contents' }}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
          {screens.map(({ letter, label, about }) =>
            letter === undefined ? null : (
              <div key={letter} style={{ display: 'contents' }}>
                <dt>
                  <kbd>g</kbd> <kbd>{letter}</kbd>
                </dt>
                <dd>
                  {about}: {label}
                </dd>
              </div>
            ),
          )}
        </dl>
      </Dialog>
    </>
  )
}

const KEYS = [
  ['/', 'Search'],
  ['Ctrl K', 'Search from anywhere'],
  ['J and K', 'Next and previous in a list'],
  ['Esc', 'Close'],
  ['?', 'These keys'],
] as const

type ScreenCommand = Command & { readonly letter?: string }

function useScreens(): readonly ScreenCommand[] {
  const viewer = useViewer()
  const market = NAVIGATION.market.map((item) => ({ ...item, about: TITLES.market }))
  // Until it is known who is signed in any screen may be theirs, and says whose it is.
  const sides = SIDES.filter((side) => !viewer.isKnown || isOfSide(viewer, side))
  return [...market, ...sides.flatMap((side) => NAVIGATION[side].map((item) => ({ ...item, about: TITLES[side] })))]
}

function useGo() {
  const navigate = useNavigate()
  return ({ to, isPlain }: Command) => {
    if (isPlain === true) location.assign(to)
    else void navigate({ to })
  }
}

type Keys = {
  readonly screens: readonly ScreenCommand[]
  readonly go: (command: Command) => void
  readonly onSearch: () => void
  readonly onHelp: () => void
}

/** True while somebody types a text or looks at a dialog. */
function isBusy({ target }: Event): boolean {
  if (document.querySelector('dialog[open]') !== null) return true
  return target instanceof HTMLElement && target.closest('input, textarea, select') !== null
}

function useKeys(keys: Keys): void {
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  useEffect(() => {
    let ledAt = Number.NEGATIVE_INFINITY
    const press = (event: globalThis.KeyboardEvent) => {
      const { screens, go, onSearch, onHelp } = latest.current
      if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        return onSearch()
      }
      if (isBusy(event) || event.ctrlKey || event.metaKey || event.altKey) return undefined
      const isLed = performance.now() - ledAt < LEADER_MS
      ledAt = event.key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY
      if (isLed) {
        const screen = screens.find(({ letter }) => letter === event.key)
        if (screen !== undefined) return go(screen)
      }
      if (event.key === '?') return onHelp()
      if (event.key !== '/') return undefined
      event.preventDefault()
      const field = document.querySelector<HTMLInputElement>('main input[data-search]')
      return field === null ? onSearch() : field.focus()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

type FinderProps = { readonly screens: readonly Command[]; readonly onChoose: (command: Command) => void }

function Finder({ screens, onChoose }: FinderProps) {
  const id = useId()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const query = text.trim().toLowerCase()
  const { data } = useScreen(PagePaletteDocument, { search: query }, { isOn: query.length > 1 })
  const models = (query.length > 1 ? (data?.markets?.edges ?? []) : []).map(({ node }) => ({
    label: node.name,
    about: node.id,
    to: `/model/${node.id}`,
  }))
  const foundScreens = screens.filter(({ label, about }) => `${about} ${label}`.toLowerCase().includes(query))
  const commands = [...foundScreens, ...models].slice(0, MAX_SHOWN)
  const at = Math.min(chosen, commands.length - 1)
  const press = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined) {
      event.preventDefault()
      setChosen((at + by + commands.length) % Math.max(commands.length, 1))
    }
    const command = commands[at]
    if (event.key === 'Enter' && command !== undefined) onChoose(command)
  }
  return (
    <div className="grid">
      <input
        className="input"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={commands.length > 0 ? `${id}-${at}` : undefined}
        aria-label="Screen or model"
        placeholder="A screen, or the name of a model"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={press}
      />
      <div className="palette">
        <div id={id} role="listbox" aria-label="Found" tabIndex={-1}>
          {commands.map((command, place) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: The field above takes the keys.
            // biome-ignore lint/a11y/useFocusableInteractive: The field above keeps the focus.
            <div
              key={command.to}
              id={`${id}-${place}`}
              role="option"
              aria-selected={place === at}
              onClick={() => onChoose(command)}
            >
              <span>{command.label}</span>
              <span className="muted">{command.about}</span>
            </div>
          ))}
        </div>
        {commands.length === 0 ? <p className="muted">Nothing is called that.</p> : null}
      </div>
    </div>
  )
}
