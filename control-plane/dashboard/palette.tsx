import { useNavigate } from '@tanstack/react-router'
import type { KeyboardEvent } from 'react'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { PagePaletteBuyerDocument, PagePaletteDocument } from './data/documents/viewer.ts'
import type { PageSide, Viewer } from './data/session.tsx'
import { isOfSide, useSignIn, useViewer } from './data/session.tsx'
import type { ThemeChoice } from './data/settings.tsx'
import { useSettings } from './data/settings.tsx'
import { useScreen } from './data/use-query.ts'
import { NAVIGATION, TITLES } from './navigation.ts'
import type { DialogState } from './ui/dialog.tsx'
import { Dialog, useDialog } from './ui/dialog.tsx'
import { placeAfter } from './ui/place-after.ts'
import { useToast } from './ui/toast.tsx'

/** A command opens an address of the page, or runs. */
type Command = {
  readonly label: string
  readonly about: string
  /** Further words that find the command. */
  readonly also?: string
} & ({ readonly to: string; readonly run?: undefined } | { readonly to?: undefined; readonly run: () => void })

const LEADER_MS = 1_200
const MAX_SHOWN = 12
const SIDES: readonly PageSide[] = ['buyer', 'seller', 'operator']

/** Search over screens, actions, models, API keys and ids, and the keyboard shortcuts of screens. */
export function CommandPalette({ dialog }: { readonly dialog: DialogState }) {
  const screens = useScreens()
  const go = useGo()
  const help = useDialog()
  useKeys({ screens, go, onSearch: dialog.open, onHelp: help.open })
  return (
    <>
      <Dialog dialog={dialog} title="Search">
        <Finder
          screens={screens}
          onChoose={(command) => {
            dialog.close()
            go(command)
          }}
        />
      </Dialog>
      <Dialog dialog={help} title="Keyboard shortcuts">
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
  ['?', 'Show these shortcuts'],
] as const

type ScreenCommand = Command & { readonly to: string; readonly letter?: string }

const ACTION = 'Action'
const THEMES: readonly (readonly [ThemeChoice, string])[] = [
  ['light', 'Use the light theme'],
  ['dark', 'Use the dark theme'],
  ['system', 'Use the theme of your system'],
]

/** The actions of the viewer, those that start something first. */
function useActions(filmModel: string | undefined): readonly Command[] {
  const viewer = useViewer()
  const { theme, setTheme } = useSettings()
  const { out } = useSignIn()
  const say = useToast()
  const leave = () => {
    out(viewer.kind).then(
      () => say('Signed out.'),
      (error: Error) => say(error.message),
    )
  }
  const buying: readonly Command[] = [
    { label: 'Create an API key', about: ACTION, also: 'new buyer key', to: '/buyer/keys?new=yes' },
    { label: 'Add credit', about: ACTION, also: 'deposit top up pay', to: '/buyer/credit' },
    ...(filmModel === undefined
      ? []
      : [
          {
            label: 'Start a video',
            about: ACTION,
            also: 'video job',
            to: `/playground?models=${encodeURIComponent(filmModel)}`,
          },
        ]),
  ]
  const themes = THEMES.filter(([choice]) => choice !== theme).map(([choice, label]) => ({
    label,
    about: ACTION,
    also: 'change display mode',
    run: () => setTheme(choice),
  }))
  const account: readonly Command[] =
    viewer.kind === 'nobody'
      ? [{ label: 'Sign in', about: ACTION, to: '/sign-in' }]
      : [{ label: 'Sign out', about: ACTION, also: 'log out leave', run: leave }]
  const isMember: readonly Command[] =
    viewer.kind === 'session'
      ? [{ label: 'Account settings', about: 'Account', also: 'passkeys wallet e-mail', to: '/account' }]
      : []
  return [...(isOfSide(viewer, 'buyer') ? buying : []), ...isMember, ...themes, ...(viewer.isKnown ? account : [])]
}

/** The 26 characters of a request id, also as an answer gives them: `chatcmpl-…`. */
const REQUEST_ID = /^(?:chatcmpl-|cmpl-|resp_|msg_|job_)?[0-7][0-9A-HJKMNP-TV-Z]{25}$/i
const TRANSACTION = /^0x[0-9a-f]{64}$/i
const WALLET = /^0x[0-9a-f]{40}$/i
/**
 * Ids of accounts, keys, offers and the like: `acc_…`. A secret key is no id, because the address would show the key.
 */
const OTHER_ID = /^[a-z]{2,5}_[0-9a-z]{20,64}$/i

/** The screens that a pasted id opens. For operators, also the search over all customers. */
function idCommands(text: string, viewer: Viewer): readonly Command[] {
  const isRequest = REQUEST_ID.test(text)
  const isTransaction = TRANSACTION.test(text)
  const id = encodeURIComponent(text)
  if (isOfSide(viewer, 'operator')) {
    const isKnown = isRequest || isTransaction || WALLET.test(text) || (OTHER_ID.test(text) && !text.startsWith('inf_'))
    return isKnown ? [{ label: `Find ${text}`, about: 'Support', to: `/operator/support?find=${id}` }] : []
  }
  const call = { label: `Open call ${text}`, about: 'Logs', to: `/buyer/logs?call=${id}` }
  const receipt = { label: `Open the receipt of ${text}`, about: 'Receipts', to: `/receipt?id=${id}` }
  if (isRequest) return isOfSide(viewer, 'buyer') ? [call, receipt] : [receipt]
  return isTransaction ? [receipt] : []
}

function useScreens(): readonly ScreenCommand[] {
  const viewer = useViewer()
  const market = NAVIGATION.market.map((item) => ({ ...item, about: TITLES.market }))
  // Until the page knows who is signed in, it offers the screens of every side, each with its side.
  const sides = SIDES.filter((side) => !viewer.isKnown || isOfSide(viewer, side))
  return [...market, ...sides.flatMap((side) => NAVIGATION[side].map((item) => ({ ...item, about: TITLES[side] })))]
}

function useGo() {
  const navigate = useNavigate()
  return ({ to, run }: Command) => {
    if (to === undefined) run()
    else void navigate({ href: to })
  }
}

type Keys = {
  readonly screens: readonly ScreenCommand[]
  readonly go: (command: Command) => void
  readonly onSearch: () => void
  readonly onHelp: () => void
}

/** True while a field has the focus or a dialog is open. */
function isBusy({ target }: Event): boolean {
  if (document.querySelector('dialog[open]') !== null) return true
  return target instanceof HTMLElement && target.closest('input, textarea, select') !== null
}

function useKeys(keys: Keys): void {
  const latest = useRef(keys)
  useLayoutEffect(() => {
    latest.current = keys
  })
  // A layout effect: keys that are pressed as soon as the screen shows are not lost.
  useLayoutEffect(() => {
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
  const viewer = useViewer()
  const query = text.trim().toLowerCase()
  const { data } = useScreen(PagePaletteDocument, { search: query }, { isOn: query.length > 1 })
  const { data: own } = useScreen(PagePaletteBuyerDocument, {}, { isOn: isOfSide(viewer, 'buyer') })
  const actions = useActions(own?.films?.edges[0]?.node.id)
  const fits = ({ label, about, also = '' }: Command) => {
    const words = `${about} ${label} ${also}`.toLowerCase()
    return query.split(/\s+/).every((word) => words.includes(word))
  }
  const isSearch = query.length > 1
  const models = (isSearch ? (data?.markets?.edges ?? []) : []).map(({ node }) => ({
    label: node.name,
    about: node.id,
    to: `/model/${node.id}`,
  }))
  const keys = (isSearch ? (own?.buyerKeys?.edges ?? []) : []).flatMap(({ node }) => {
    const command = { label: node.label || node.id, about: 'Calls of an API key', to: `/buyer/logs?key=${node.id}` }
    return `${node.label} ${node.id}`.toLowerCase().includes(query) ? [command] : []
  })
  const found = [...idCommands(text.trim(), viewer), ...[...screens, ...actions].filter(fits), ...keys, ...models]
  // Without a search the whole list scrolls.
  const commands = query === '' ? found : found.slice(0, MAX_SHOWN)
  const at = Math.min(chosen, commands.length - 1)
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, at])
  const press = (event: KeyboardEvent) => {
    const next = placeAfter(event.key, at, commands.length)
    if (next !== undefined) {
      event.preventDefault()
      setChosen(next)
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
        aria-label="Search"
        placeholder="Screen, action, model, API key or id"
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
              key={`${command.about} ${command.label}`}
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
        {commands.length === 0 ? (
          <p className="muted">No match. Try the name of a screen, a model or an API key, or paste a request id.</p>
        ) : null}
      </div>
    </div>
  )
}
