import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useEffect, useRef, useState } from 'react'
import type { PageSide } from './data/session.tsx'
import { isOfSide, useReadForViewer, useSignIn, useViewer } from './data/session.tsx'
import { useSettings } from './data/settings.tsx'
import { NAVIGATION, TITLES } from './navigation.ts'
import { CommandPalette } from './palette.tsx'
import { Button } from './ui/button.tsx'
import { useDialog } from './ui/dialog.tsx'
import { Segments } from './ui/fields.tsx'
import { useToast } from './ui/toast.tsx'

/** Everything around a screen. */
export function Frame() {
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const [isOpen, setOpen] = useState(false)
  const palette = useDialog()
  // biome-ignore lint/correctness/useExhaustiveDependencies: Another screen closes the menu.
  useEffect(() => setOpen(false), [path])
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
        <main id="content" className="main" tabIndex={-1}>
          <Outlet />
        </main>
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
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="var(--accent)" />
        <path
          d="M7 22l6-8 5 5 7-10"
          fill="none"
          stroke="var(--on-accent)"
          strokeWidth="3"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      Inference market
    </Link>
  )
}

function Navigation({ isOpen, onSearch }: { readonly isOpen: boolean; readonly onSearch: () => void }) {
  const viewer = useViewer()
  const sides: readonly PageSide[] = ['buyer', 'seller', 'operator']
  return (
    <nav id="navigation" className="side" data-open={isOpen} aria-label="Screens">
      <Brand />
      <Button onClick={onSearch}>
        Search <kbd>/</kbd>
      </Button>
      <Group title={TITLES.market} items={NAVIGATION.market} />
      {sides
        .filter((side) => isOfSide(viewer, side))
        .map((side) => (
          <Group key={side} title={TITLES[side]} items={NAVIGATION[side]} />
        ))}
      <Foot />
    </nav>
  )
}

type Item = { readonly to: string; readonly label: string; readonly isPlain?: boolean }

function Group({ title, items }: { readonly title: string; readonly items: readonly Item[] }) {
  return (
    <div>
      <h2>{title}</h2>
      <ul>
        {items.map(({ to, label, isPlain }) => (
          <li key={to}>
            {isPlain === true ? (
              <a href={to}>{label}</a>
            ) : (
              <Link to={to} activeOptions={{ exact: to.split('/').length < 3, includeSearch: false }}>
                {label}
              </Link>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}

function Foot() {
  const { theme, zone, setTheme, setZone } = useSettings()
  return (
    <div className="side-foot">
      <Account />
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
  )
}

function Account(): ReactNode {
  const viewer = useViewer()
  const { out } = useSignIn()
  const say = useToast()
  if (viewer.kind === 'nobody') {
    return (
      <Link to="/sign-in" search={{}} className="button" data-kind="primary">
        Sign in
      </Link>
    )
  }
  const whole = viewer.wallet ?? viewer.keyId ?? viewer.user ?? ''
  const name = `${whole.slice(0, 6)}…${whole.slice(-4)}`
  const leave = () => {
    out(viewer.kind).then(
      () => say('Signed out.'),
      (error: Error) => say(error.message),
    )
  }
  return (
    <div className="actions">
      <span className="small">
        {viewer.kind === 'session' ? <Link to="/account">Account</Link> : `As ${viewer.kind}`}{' '}
        <code title={whole}>{name}</code>
      </span>
      <Button kind="quiet" onClick={leave}>
        Sign out
      </Button>
    </div>
  )
}
