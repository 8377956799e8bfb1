// Which hosts a request of the agent may reach at all. The URL parser has already turned decimal, octal,
// hexadecimal and short IPv4 forms, full-width digits and percent escapes into the plain form, so only
// that form is judged. What a public name resolves to can't be seen from a Worker; Cloudflare's network
// does not route Workers to private addresses.

const PRIVATE_NAMES = ["localhost", "local", "internal", "intranet", "private", "lan", "home", "corp", "home.arpa", "onion", "test", "invalid"];

/** First address and prefix length of each IPv4 range that is not on the public internet. */
const PRIVATE_IPV4: [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

/** Why a request to this URL is never made, in words for the model; null when the address is a public one. */
export function refusedAddress(url: URL): string | null {
  if (url.protocol !== "http:" && url.protocol !== "https:") return `${url.protocol} is not http or https`;
  if (url.username || url.password) return "a URL with a user name or password in it is not fetched";
  const host = url.hostname.replace(/\.$/, "").toLowerCase();
  const isPublic = host.startsWith("[") ? isPublicIpv6(host.slice(1, -1)) : /^[\d.]+$/.test(host) ? isPublicIpv4(host) : isPublicName(host);
  return isPublic ? null : `${url.hostname} is not a public internet address`;
}

function isPublicName(host: string): boolean {
  return host.includes(".") && !PRIVATE_NAMES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

function isPublicIpv4(address: string): boolean {
  const value = ipv4(address);
  return value !== null && !PRIVATE_IPV4.some(([first, bits]) => (value ^ (ipv4(first) ?? 0)) >>> (32 - bits) === 0);
}

function ipv4(address: string): number | null {
  const parts = address.split(".").map(Number);
  return parts.length === 4 && parts.every((part) => part >= 0 && part <= 255) ? parts.reduce((value, part) => (value << 8) | part, 0) : null;
}

/** Global unicast only, without the ranges that carry an IPv4 address inside (6to4, Teredo) and those for documentation. */
function isPublicIpv6(address: string): boolean {
  const [first = 0, second = 0] = address.split(":").map((group) => Number.parseInt(group || "0", 16));
  const globalUnicast = first >= 0x2000 && first <= 0x3fff;
  return globalUnicast && first !== 0x2002 && !(first === 0x2001 && (second < 0x200 || second === 0xdb8)) && !(first === 0x3fff && second < 0x1000);
}
