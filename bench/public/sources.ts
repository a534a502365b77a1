// The public sets of tools and queries: where each comes from, at which commit, and what its files must contain.
import {
  type CatalogueSet,
  convertBfcl,
  convertLiveMcpBench,
  convertMetaTool,
  convertSealTools,
} from './convert.ts'

/** A file of a repository, checked by its size and SHA-256. */
export type PinnedFile = { readonly path: string; readonly bytes: number; readonly sha256: string }

export type Source = {
  readonly name: string
  /** `owner/name` on GitHub. */
  readonly repository: string
  readonly commit: string
  readonly licence: string
  readonly files: readonly PinnedFile[]
  /** Takes the texts of the files by path. */
  readonly convert: (files: ReadonlyMap<string, string>) => CatalogueSet
}

const BFCL = 'berkeley-function-call-leaderboard/bfcl_eval/data'

export const SOURCES: readonly Source[] = [
  {
    name: 'livemcp',
    repository: 'icip-cas/LiveMCPBench',
    commit: 'a928e57d1ee7a25579b9a7036030faffff72d15b',
    licence: 'Apache-2.0',
    convert: convertLiveMcpBench,
    files: [
      file(
        'tools/LiveMCPTool/tools.json',
        1133936,
        '93762d39002fe7546d79b4c8f0ff070678f5d218af29f83bfc57cd98ce8a6a59',
      ),
      file(
        'annotated_data/all_annotations.json',
        82022,
        '0e8db4c5abf4eb0b666f4cc4c1b1bd5cd6b8741ade7abb0fbc51526ae8b058b8',
      ),
      file(
        'baseline/output/claude-sonnet-4-20250514_Qwen3-Embedding-0.6B.json',
        3478375,
        'b19723563c8291e5f394c9afdd88362b46a52755c502727b0c25601146d69137',
      ),
    ],
  },
  {
    name: 'metatool',
    repository: 'HowieHwong/MetaTool',
    commit: '35e81bb7576826e980c80fed8f8c0a2b4a1e6fbb',
    licence: 'MIT',
    convert: convertMetaTool,
    files: [
      file(
        'dataset/plugin_des.json',
        22484,
        'c446ade5acfb8e16c477124250665021e63b11bf6cb232db04fc9ba6bed0389a',
      ),
      file(
        'dataset/data/all_clean_data.csv',
        2770203,
        'cf2eb0474396677530931def51012da4e88f9f34f655332f04177b2054101baf',
      ),
      file(
        'dataset/data/multi_tool_query_golden.json',
        112358,
        'ef37d10a8cb5b41435d6ea3ae29819afdb8d6db0852268830e5ee77259507f51',
      ),
    ],
  },
  {
    name: 'bfcl',
    repository: 'ShishirPatil/gorilla',
    commit: '6ea57973c7a6097fd7c5915698c54c17c5b1b6c8',
    licence: 'Apache-2.0',
    convert: convertBfcl,
    files: [
      bfcl('live_simple', 260140, '1af2ac87dca47556db7b7e37e51e28b459a38b594e3c7b3c792b4903598ca0c4'),
      bfcl('live_multiple', 3891277, 'fd8ccfad4d911420d0e3341dbe2fff77d1d341da934248b9bb2bda24ab3a10c8'),
      bfcl('live_parallel', 15649, '6c26e9fdc3350cf596e6d1ea9c179cbff834761bccf562f4141ed29a839ca421'),
      bfcl(
        'live_parallel_multiple',
        82332,
        '21d4b9319c1faac431e22757b367ea28917fe467364c3a4b17f16ec06d4f6e79',
      ),
      bfcl('multiple', 316583, 'aef168155ebd74b7ac2401198b201343bc7d16d7a3d7e0d4e6d8ee82c6969b2a'),
      bfcl('parallel_multiple', 347080, '8863ea8433239f55c5f016154cf0830853c89f693c6ea270396a2fa121960579'),
      bfcl('parallel', 171896, '19f51a82eff42e5d62541aa500115a056eb78f437c2ba1f10415fd7c8e5dda84'),
      bfcl('simple_python', 283274, '82dd63ba502eb2520c6b5d1d9a5c4b590e03ff261565175561f6228a367d1991'),
      bfcl('live_irrelevance', 2209534, '6559fda2beaceb609a2cd2e504c65b4a56cb448e1ef88fddfd199e163d163349'),
      bfcl('irrelevance', 159940, '2b6ed4c2e992cdcf5f1678a701851f944bef7550ee026ed1ddb89efed5be01a6'),
      bfcl('live_relevance', 47327, 'e03f9e241657a137cba48a89ee12f47bf3fcb7e4f6274263e9c699a0c974203a'),
      answers('live_simple', 46972, 'fec9cfa9744a936f9126981e85a2023da1e63e273eafebc81923a1162fad70ce'),
      answers('live_multiple', 199668, '97e90d59c5bd76c55a2920ce93e5566e9046307d3f558578f085f9d3a56c3084'),
      answers('multiple', 32254, '244e00ce9395df948bcafc7bee64e8f9c87ef70887587d83cae45b13699f3047'),
      answers('parallel_multiple', 74602, '5ebf24f458c1f16300c05505d83d6f0a1b68b79be273a033febd0d4f840507e3'),
    ],
  },
  {
    name: 'sealtools',
    repository: 'fairyshine/Seal-Tools',
    commit: 'ce753ecd60ed08dd376984035de531ab8421f1c6',
    licence: 'Apache-2.0',
    convert: convertSealTools,
    files: [
      file(
        'Seal-Tools_Dataset/tool.jsonl',
        2574022,
        '35e34aaec1f0793c2b5a5dff734cb925837988f59ed0fe4f410d67f3d8375f5c',
      ),
      file(
        'Seal-Tools_Dataset/test_in_domain.jsonl',
        511226,
        '330020288948e711846417c2fca9a5980ef0f1adc01ad74dc38cc9ff7142811f',
      ),
      file(
        'Seal-Tools_Dataset/test_out_domain.jsonl',
        542260,
        'c2a86a3d3a5270f578e07f39a0973310cbcaec3b8d72166d7be38d21c9720be6',
      ),
    ],
  },
]

function file(path: string, bytes: number, sha256: string): PinnedFile {
  return { path, bytes, sha256 }
}

function bfcl(part: string, bytes: number, sha256: string): PinnedFile {
  return file(`${BFCL}/BFCL_v4_${part}.json`, bytes, sha256)
}

function answers(part: string, bytes: number, sha256: string): PinnedFile {
  return file(`${BFCL}/possible_answer/BFCL_v4_${part}.json`, bytes, sha256)
}
