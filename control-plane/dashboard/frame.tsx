import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useEffect, useId, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { PageSide, Viewer } from './data/session.tsx'
import { isOfSide, useReadForViewer, useSignIn, useViewer } from './data/session.tsx'
import { useSettings } from './data/settings.tsx'
import { chosenWorkspace } from './data/workspace.ts'
import type { NavigationItem, NavigationSide } from './navigation.ts'
import { NAVIGATION, openSides, TITLES } from './navigation.ts'
import { CommandPalette } from './palette.tsx'
import { BRAND_NAME } from './ui/brand-mark.ts'
import { Button } from './ui/button.tsx'
import { useDialog } from './ui/dialog.tsx'
import { Segments } from './ui/fields.tsx'
import { Mark } from './ui/mark.tsx'
import { Monogram } from './ui/monogram.tsx'
import { useToast } from './ui/toast.tsx'
import { WorkspaceMenu } from './workspace-menu.tsx'

/** Everything around a screen. */
export function Frame() {
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const [isOpen, setOpen] = useState(false)
  const palette = useDialog()
  // biome-ignore lint/correctness/useExhaustiveDependencies: Another screen closes the menu.
  useLayoutEffect(() => setOpen(false), [path])
  useFocusOnScreen()
  useReadForViewer()
  return (
    <>
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="topbar">
        <Brand />
        <div className="actions">
          <Button onClick={palette.open}>Search</Button>
          <Button aria-expanded={isOpen} aria-controls="navigation" onClick={() => setOpen(!isOpen)}>
            Menu
          </Button>
        </div>
      </header>
      <div className="frame">
        <Navigation isOpen={isOpen} onSearch={palette.open} />
        <div className="beside">
          <main id="content" className="main" tabIndex={-1}>
            <Outlet />
          </main>
          <PageFoot />
        </div>
      </div>
      <CommandPalette dialog={palette} />
    </>
  )
}

/** Moves the focus to a screen that is opened, so that the next Tab leads into it and not through the navigation. */
function useFocusOnScreen(): void {
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  const shown = useRef(path)
  useEffect(() => {
    const before = shown.current
    shown.current = path
    if (before === undefined || before === path) return
    const content = document.getElementById('content')
    if (content?.contains(document.activeElement) === false) content.focus({ preventScroll: true })
  }, [path])
}

function Brand() {
  return (
    <Link to="/" className="brand">
      <Mark />
      {BRAND_NAME}
    </Link>
  )
}

const ROW_PX = 28
/** The brand, the search and the account around the groups. */
const AROUND_PX = 176
const SIDES: readonly PageSide[] = ['buyer', 'seller', 'operator']

function listenToHeight(onChange: () => void): () => void {
  addEventListener('resize', onChange)
  return () => removeEventListener('resize', onChange)
}

function Navigation({ isOpen, onSearch }: { readonly isOpen: boolean; readonly onSearch: () => void }) {
  const viewer = useViewer()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const height = useSyncExternalStore(listenToHeight, () => innerHeight)
  const [pressed, setPressed] = useState<Readonly<Record<string, boolean>>>({})
  // Until the page knows who is signed in, it shows the frame of the last viewer.
  const kind = viewer.isKnown ? viewer.kind : viewer.likely
  const sides: readonly NavigationSide[] = [
    'market',
    ...SIDES.filter((side) => kind !== undefined && isOfSide({ kind }, side)),
  ]
  const open = openSides(sides, path, Math.floor((height - AROUND_PX) / ROW_PX))
  return (
    <nav id="navigation" className="side" data-open={isOpen} aria-label="Screens">
      <Brand />
      <Button onClick={onSearch}>
        Search <kbd>/</kbd>
      </Button>
      <div className="side-groups">
        {sides.map((side) => (
          <Group
            key={side}
            side={side}
            isOpen={pressed[side] ?? open.has(side)}
            onPress={(next) => setPressed((before) => Object.fromEntries([...Object.entries(before), [side, next]]))}
          />
        ))}
      </div>
      <Foot />
    </nav>
  )
}

type GroupProps = {
  readonly side: NavigationSide
  readonly isOpen: boolean
  readonly onPress: (isOpen: boolean) => void
}

/** The screens of a side, under a heading that folds them. */
function Group({ side, isOpen, onPress }: GroupProps) {
  const id = useId()
  const items: readonly NavigationItem[] = NAVIGATION[side]
  return (
    <div data-side={side}>
      <h2>
        <button type="button" aria-expanded={isOpen} aria-controls={id} onClick={() => onPress(!isOpen)}>
          {TITLES[side]}
        </button>
      </h2>
      <ul id={id} hidden={!isOpen}>
        {items.map(({ to, label }) => (
          <li key={to}>
            <Link to={to} activeOptions={{ exact: to.split('/').length < 3, includeSearch: false }}>
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}

const MENU = 'account-menu'
const KIND_WORDS = {
  session: 'Account',
  buyer: 'Buyer key',
  seller: 'Seller key',
  org: 'Organisation key',
  operator: 'Operator',
} as const

/** The signed-in viewer, with the menu of the account and of the display. */
function Foot() {
  const viewer = useViewer()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const menu = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: Another screen closes the menu.
  useLayoutEffect(() => menu.current?.hidePopover(), [path])
  const kind = viewer.isKnown ? viewer.kind : viewer.likely
  const name = nameOf(viewer)
  const workspace = kind === 'session' ? chosenWorkspace() : undefined
  const [isMenuOpen, setMenuOpen] = useState(false)
  return (
    <div className="side-foot">
      {kind === undefined ? (
        <span className="account" aria-hidden="true" />
      ) : kind === 'nobody' ? (
        <div className="account">
          <Link to="/sign-in" search={{}} className="button" data-kind="primary">
            Sign in
          </Link>
          <button type="button" className="button" data-kind="quiet" popoverTarget={MENU}>
            Display
          </button>
        </div>
      ) : (
        <button type="button" className="account" popoverTarget={MENU}>
          <Monogram name={name} />
          <span>
            <span className="hidden">Account menu: </span>
            {workspace?.name ?? KIND_WORDS[kind]}
            <code>{` ${name}`}</code>
          </span>
        </button>
      )}
      <div
        id={MENU}
        ref={menu}
        popover="auto"
        className="menu"
        onToggle={({ newState }) => setMenuOpen(newState === 'open')}
      >
        <Menu isOpen={isMenuOpen} />
      </div>
    </div>
  )
}

function nameOf({ wallet, keyId, user }: Viewer): string {
  const whole = wallet ?? keyId ?? user ?? ''
  return whole === '' ? '' : `${whole.slice(0, 6)}…${whole.slice(-4)}`
}

function Menu({ isOpen }: { readonly isOpen: boolean }): ReactNode {
  const viewer = useViewer()
  const { theme, zone, setTheme, setZone } = useSettings()
  const { out } = useSignIn()
  const say = useToast()
  const leave = () => {
    out(viewer.kind).then(
      () => say('Signed out.'),
      (error: Error) => say(error.message),
    )
  }
  return (
    <>
      {viewer.kind === 'session' ? (
        <Link to="/account" className="menu-item">
          Account settings
        </Link>
      ) : null}
      {viewer.kind === 'session' ? <WorkspaceMenu isOpen={isOpen} /> : null}
      <div className="field">
        <span>Theme</span>
        <Segments
          label="Theme"
          value={theme}
          choices={[
            { value: 'system', label: 'Auto' },
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
          onChoose={setTheme}
        />
      </div>
      <div className="field">
        <span>Times</span>
        <Segments
          label="Times"
          value={zone}
          choices={[
            { value: 'utc', label: 'UTC' },
            { value: 'local', label: 'Local time' },
          ]}
          onChoose={setZone}
        />
      </div>
      {viewer.kind === 'nobody' ? null : (
        <button type="button" className="menu-item" onClick={leave}>
          Sign out
        </button>
      )}
    </>
  )
}

/** The foot of every screen. */
function PageFoot() {
  return (
    <footer className="page-foot">
      <span className="brand">
        <Mark />
        {BRAND_NAME}
      </span>
      <ul>
        {FOOT_LINKS.map(([to, label]) => (
          <li key={to}>
            <a href={to}>{label}</a>
          </li>
        ))}
      </ul>
      <span>Open source, Apache 2.0</span>
    </footer>
  )
}

const FOOT_LINKS = [
  ['/models', 'Models'],
  ['/fees', 'Fees'],
  ['/status', 'Status'],
  ['/docs', 'Docs'],
  ['/terms', 'Terms'],
  ['/privacy', 'Privacy'],
] as const
