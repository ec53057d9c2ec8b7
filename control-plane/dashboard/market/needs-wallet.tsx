import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

/** Says that an account without a wallet needs one here, and leads to linking one. */
export function NeedsWallet({ children }: { readonly children: ReactNode }) {
  const { kind, wallet } = useViewer()
  if (kind !== 'session' || wallet !== null) return null
  return (
    <Notice tone="warn">
      <span>{children}</span>{' '}
      <Link to="/account" className="button">
        Link a wallet
      </Link>
    </Notice>
  )
}
