import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { Card } from './page.tsx'
import { SESSIONS } from './sessions.ts'

/** The content of a screen that belongs to an account, for a reader who is signed in with a key. */
export function NeedsAccount({ children }: { readonly children: ReactNode }) {
  const { href } = useLocation()
  const { kind } = useViewer()
  return (
    <Card title={`You are signed in with ${SESSIONS[kind]}`}>
      <div className="form">
        <p>{children}</p>
        <div className="actions">
          <Link to="/sign-in" search={{ to: href }} className="button" data-kind="primary">
            Sign in with a passkey or a wallet
          </Link>
        </div>
      </div>
    </Card>
  )
}
