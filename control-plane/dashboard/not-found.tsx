import { Link } from '@tanstack/react-router'
import { Page } from './ui/page.tsx'

/** The screen of an address that leads to nothing. */
export function NotFound() {
  return (
    <Page title="Not found" about="Nothing is at this address, or it belongs to somebody else.">
      <p>
        <Link to="/">Go to the market</Link>
      </p>
    </Page>
  )
}
